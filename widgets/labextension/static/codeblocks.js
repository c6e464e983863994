// @ts-check
// Copy and Insert below on the code blocks of answers: only on the page, never in the notebook.

import { button, equip } from './outputs.js';

const BLOCK = 'copilot-code';
const TOOLS = 'copilot-code-tools';
const COPIED_MS = 2000;

export class CodeBlocks {
  #copy;

  /**
   * @param {import('@jupyterlab/notebook').INotebookTracker} tracker @param {(text: string) => void} copy
   * @param {import('./connection.js').Connections} connections
   */
  constructor(tracker, copy, connections) {
    this.#copy = copy;
    equip(tracker, BLOCK, panel => {
      /** A code cell below the one that shows the block. @param {Element} block */
      const insertBelow = block => {
        const cell = panel.content.widgets.find(each => each.node.contains(block));
        if (!cell) return;
        const page = connections.documentOf(panel);
        void page.show(page.insert({ source: codeOf(block), type: 'code', after: cell.model.id }).id);
      };
      return block => this.#equip(block, insertBelow);
    });
  }

  /** @param {Element} block @param {(block: Element) => void} insertBelow */
  #equip(block, insertBelow) {
    if (block.previousElementSibling?.className === TOOLS) return;
    const copy = button('Copy', () => {
      this.#copy(codeOf(block));
      copy.textContent = 'Copied';
      setTimeout(() => { copy.textContent = 'Copy'; }, COPIED_MS);
    });
    const tools = document.createElement('div');
    tools.className = TOOLS;
    tools.setAttribute('role', 'group');
    tools.setAttribute('aria-label', 'Code block');
    tools.append(copy, button('Insert below', () => insertBelow(block)));
    block.before(tools);
  }
}

/** @param {Element} block */
function codeOf(block) {
  return (block.textContent ?? '').replace(/\n$/, '');
}
