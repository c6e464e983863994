// @ts-check
// Who has run which cell. Where a server runs the cells, its requests to the kernel do not say it: the page knows.

/**
 * @typedef {import('@jupyterlab/notebook').NotebookPanel} NotebookPanel
 * @typedef {import('@jupyterlab/cells').CodeCell} CodeCell
 * @typedef {{cell: CodeCell, source: string, future: unknown}} Note A cell that was run, and what showed its output until then.
 */

const MAX_NOTES = 100;

/** The cells that were run in this page, and that nobody has claimed: the oldest first. */
export class Notes {
  /** @type {Note[]} */
  #notes = [];

  /** Before the request is sent. @param {{cell: import('@jupyterlab/cells').Cell}} scheduled */
  add({ cell }) {
    if (cell.model.type !== 'code') return;
    const code = /** @type {CodeCell} */ (cell);
    const others = this.#notes.filter(note => note.cell !== cell);
    const note = { cell: code, source: code.model.sharedModel.getSource(), future: code.outputArea.future };
    this.#notes = [...others, note].slice(-MAX_NOTES);
  }

  /**
   * The id of the cell that a server runs for this page; empty if it is another page's, or not known which one it is.
   * After a reload there are no notes: then the only running cell with that source counts, if nobody else is there.
   * @param {NotebookPanel} panel @param {string} source
   */
  claim({ content, context }, source) {
    const codeCells = /** @type {CodeCell[]} */ (content.widgets.filter(({ model }) => model.type === 'code'));
    // Where the page itself has sent the request, its future has changed.
    const noted = this.#notes.find(note =>
      note.source === source && note.future === note.cell.outputArea.future && codeCells.includes(note.cell));
    if (noted) {
      this.#notes = this.#notes.filter(note => note !== noted);
      return noted.cell.model.id;
    }
    const isSuch = (/** @type {CodeCell} */ { model }) =>
      model.executionState === 'running' && model.sharedModel.getSource() === source;
    const running = codeCells.filter(isSuch);
    return running.length === 1 && !hasOthers(context.model.sharedModel) ? running[0].model.id : '';
  }
}

/** Whether another user has the notebook open, if it is shared. @param {any} shared */
function hasOthers({ awareness }) {
  const me = awareness?.getLocalState()?.user?.username;
  return [...(awareness?.getStates().values() ?? [])].some(({ user }) => user && user.username !== me);
}
