// @ts-check
// Marks beside cells that the agent inserted or edited, as long as they are as it left them. They come from the records
// of the turns that the notebook holds, so they are there after a reload, too, and nothing of them is saved.

import { button } from './outputs.js';
import { crc32, oneLine } from './text.js';
import { undoIn } from './undo.js';

/**
 * @typedef {import('@jupyterlab/notebook').NotebookPanel} NotebookPanel
 * @typedef {import('@jupyterlab/cells').Cell} Cell
 * @typedef {import('@jupyterlab/cells').CodeCell} CodeCell
 * @typedef {{id: string, what: string, crc32: number, agent: string, asking: CodeCell}} Edit What a turn, which `asking`
 *   shows, did to a cell.
 */

const RECORD = 'copilot_kernel'; // in the metadata of a turn's last output
const SCHEMA = 1;
const MAX_AGENT = 40;
const MARK = 'copilot-mark';

/** @param {import('@jupyterlab/notebook').INotebookTracker} tracker @param {import('./connection.js').Connections} connections */
export function markEdits(tracker, connections) {
  /** @param {NotebookPanel} panel */
  const watch = panel => new Marks(panel, id => connections.documentOf(panel).show(id)).update();
  tracker.widgetAdded.connect((_, panel) => watch(panel));
  tracker.forEach(watch);
}

/** The marks of one notebook. */
class Marks {
  #panel;
  #show;
  #isDue = false;
  /** In the order of the notebook. @type {Edit[]} */
  #edits = [];
  /** What has a listener. @type {WeakSet<object>} */
  #followed = new WeakSet();

  /** @param {NotebookPanel} panel @param {(id: string) => Promise<void>} show Scrolls to a cell. */
  constructor(panel, show) {
    this.#panel = panel;
    this.#show = show;
    panel.content.model?.cells.changed.connect(() => this.update());
  }

  /** Read the records, once for all that changes now. */
  update() {
    if (this.#isDue) return;
    this.#isDue = true;
    setTimeout(() => {
      this.#isDue = false;
      if (!this.#panel.isDisposed) this.#read();
    });
  }

  #read() {
    const { widgets } = this.#panel.content;
    const edits = widgets.flatMap(cell => (cell.model.type === 'code' ? this.#editsOf(/** @type {CodeCell} */ (cell)) : []));
    if (!edits.length && !this.#edits.length) return;
    this.#edits = edits;
    widgets.forEach(cell => this.#mark(cell));
  }

  /** What the records in a cell's outputs say. A saved one may be anybody's. @param {CodeCell} asking @returns {Edit[]} */
  #editsOf(asking) {
    const { outputs } = asking.model;
    if (this.#isNew(outputs)) {
      outputs.changed.connect((_, { newValues, oldValues }) => {
        if ([...newValues, ...oldValues].some(output => output?.metadata[RECORD])) this.update();
      });
    }
    const records = Array.from({ length: outputs.length }, (_, at) => Object(outputs.get(at).metadata[RECORD]));
    return records.filter(({ schema, cells }) => schema === SCHEMA && Array.isArray(cells)).flatMap(({ agent, cells }) => {
      const name = oneLine(String(agent ?? 'the agent'), MAX_AGENT);
      return cells.map((/** @type {any} */ cell) => ({ ...cell, agent: name, asking }));
    });
  }

  /** @param {object} followed */
  #isNew(followed) {
    const isNew = !this.#followed.has(followed);
    this.#followed.add(followed);
    return isNew;
  }

  /** Show the mark of the last edit that left the cell as it is, if there is one. @param {Cell} cell */
  #mark(cell) {
    const { id, sharedModel } = cell.model;
    const edits = this.#edits.filter(edit => edit.id === id);
    if (edits.length && this.#isNew(sharedModel)) {
      sharedModel.changed.connect((_, change) => {
        if (change.sourceChange) this.#mark(cell);
      });
    }
    const checksum = edits.length ? crc32(sharedModel.getSource()) : 0;
    const edit = edits.filter(each => each.crc32 === checksum).at(-1);
    cell.node.querySelector(`:scope > .${MARK}`)?.remove();
    if (edit) cell.node.append(this.#made(edit));
  }

  /** A fold, which needs nothing for the keyboard but that JupyterLab leaves it the keys. @param {Edit} edit */
  #made({ id, what, agent, asking }) {
    const mark = document.createElement('details');
    const sign = document.createElement('summary');
    const about = document.createElement('span');
    const review = button('Review', () => void this.#review(id, asking));
    const undo = button('Undo', () => undoIn(asking.node)?.click());
    undo.title = 'Shows what would be restored of this turn, and asks first';
    mark.className = MARK;
    mark.dataset.lmSuppressShortcuts = 'true';
    sign.textContent = '✦';
    const describe = () => {
      const count = asking.model.executionCount;
      about.textContent = `${what === 'new' ? 'Inserted' : 'Edited'} by ${agent}${count === null ? '' : `, asked in [${count}]`}`;
      sign.title = about.textContent;
      undo.hidden = !undoIn(asking.node);
    };
    const close = () => { mark.open = false; };
    for (const event of ['toggle', 'pointerenter', 'focusin']) mark.addEventListener(event, describe);
    mark.addEventListener('focusout', ({ relatedTarget }) => relatedTarget instanceof Node && !mark.contains(relatedTarget) && close());
    mark.addEventListener('keydown', ({ key }) => {
      if (key !== 'Escape') return;
      close();
      sign.focus();
    });
    describe();
    const card = document.createElement('div');
    card.append(about, review, undo);
    mark.append(sign, card);
    return mark;
  }

  /** Go to the change as the turn shows it, else to the turn. @param {string} id @param {CodeCell} asking */
  async #review(id, asking) {
    await this.#show(asking.model.id);
    const link = [...asking.outputArea.node.querySelectorAll('a')].find(each => each.getAttribute('href') === `#cell-id=${id}`);
    link?.scrollIntoView({ block: 'center' });
    link?.focus({ preventScroll: true });
  }
}
