// @ts-check
// Copy and Insert below on the code blocks of answers: only on the page, never in the notebook.

import { NotebookDocument } from './document.js';

/** @typedef {import('@jupyterlab/notebook').NotebookPanel} NotebookPanel */

const BLOCK = 'copilot-code';
const TOOLS = 'copilot-code-tools';
const COPIED_MS = 2000;

export class CodeBlocks {
  #copy;

  /** @param {import('@jupyterlab/notebook').INotebookTracker} tracker @param {(text: string) => void} copy */
  constructor(tracker, copy) {
    this.#copy = copy;
    tracker.widgetAdded.connect((_, panel) => this.#watch(panel));
    tracker.forEach(panel => this.#watch(panel));
  }

  /** Outputs are drawn anew when they grow. @param {NotebookPanel} panel */
  #watch(panel) {
    const { node } = panel.content;
    const blocks = node.getElementsByClassName(BLOCK);
    /** @type {NotebookDocument | undefined} */
    let page;
    /** A code cell below the one that shows the block. @param {Element} block */
    const insertBelow = block => {
      const cell = panel.content.widgets.find(each => each.node.contains(block));
      if (!cell) return;
      page ??= new NotebookDocument(panel);
      void page.show(page.insert({ source: codeOf(block), type: 'code', after: cell.model.id }).id);
    };
    const equip = () => [...blocks].forEach(block => this.#equip(block, insertBelow));
    const observer = new MutationObserver(equip);
    observer.observe(node, { childList: true, subtree: true });
    panel.disposed.connect(() => observer.disconnect());
    equip();
  }

  /** @param {Element} block @param {(block: Element) => void} insertBelow */
  #equip(block, insertBelow) {
    if (block.previousElementSibling?.className === TOOLS || !block.closest('.jp-OutputArea')) return;
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

/** @param {string} label @param {() => void} act */
function button(label, act) {
  const made = document.createElement('button');
  made.type = 'button';
  made.textContent = label;
  made.addEventListener('click', act);
  return made;
}
