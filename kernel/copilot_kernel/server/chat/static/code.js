// Copy on the code blocks of answers: only on the page.

import { button, element } from './elements.js';

const COPIED = 2000; // milliseconds

export function equip(root) {
  for (const block of root.querySelectorAll('.copilot-code')) {
    const tools = element('div', 'code-tools');
    const copy = button('', 'Copy', async () => {
      const isCopied = await copied((block.textContent ?? '').replace(/\n$/, ''));
      copy.textContent = isCopied ? 'Copied' : 'Press Ctrl+C';
      if (!isCopied) getSelection().selectAllChildren(block);
      setTimeout(() => { copy.textContent = 'Copy'; }, COPIED);
    });
    copy.setAttribute('aria-label', 'Copy this code');
    tools.append(copy);
    block.before(tools);
  }
}

// Browsers have a clipboard only for pages from this machine or by HTTPS.
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
