// @ts-check
// Saves of notebooks: one after the other, and those that nobody asked for.

/**
 * @typedef {import('@jupyterlab/notebook').NotebookPanel} NotebookPanel
 * @typedef {(save: () => Promise<void>) => Promise<void>} Queue
 */

const SAME_MS = 500; // between two times of one file, as JupyterLab has it

export class Saves {
  #contents;
  /** @type {WeakMap<object, {save: () => Promise<void>, queue: Queue}>} */
  #followed = new WeakMap();

  /** @param {import('@jupyterlab/services').Contents.IManager} contents */
  constructor(contents) {
    this.#contents = contents;
  }

  /**
   * From now on, saves of this notebook wait for each other, whoever asks for them: JupyterLab takes the file that one of
   * two saves at once has written for a change by somebody else, and asks.
   * @param {NotebookPanel} panel
   */
  follow({ context }) {
    if (this.#followed.has(context)) return;
    const [save, queue] = [context.save.bind(context), makeQueue()];
    this.#followed.set(context, { save, queue });
    context.save = () => queue(save);
  }

  /**
   * Save without a dialog: not where somebody else has changed the file. Also what JupyterLab does not take for changed: it
   * forgets what changes while it saves.
   * @param {NotebookPanel} panel
   */
  saveUnasked(panel) {
    const { context } = panel;
    const { save, queue } = this.#followed.get(context) ?? {};
    if (!save || !queue) return;
    queue(async () => {
      const { contentsModel, model, path } = context;
      if (panel.isDisposed || !contentsModel?.writable || model.collaborative) return;
      const { last_modified: saved } = await this.#contents.get(path, { content: false });
      if (Date.parse(saved) - Date.parse(contentsModel.last_modified) <= SAME_MS) await save();
    }).catch(error => console.warn('The notebook could not be saved:', error));
  }
}

/** One after the other; those that wait for one that fails fail as well: its dialog is not shown again. @returns {Queue} */
function makeQueue() {
  let last = Promise.resolve();
  return save => {
    const mine = last.then(save);
    last = mine;
    mine.catch(() => { if (last === mine) last = Promise.resolve(); });
    return mine;
  };
}
