// @ts-check
// An image or a file that is pasted or dropped into a prompt cell is saved beside the notebook and attached.

import { languageOf } from './kernels.js';
import { attachment, freeName, isPrompt } from './prompts.js';

/**
 * @typedef {import('@jupyterlab/application').JupyterFrontEnd} JupyterFrontEnd
 * @typedef {import('@jupyterlab/notebook').NotebookPanel} NotebookPanel
 * @typedef {import('@jupyterlab/cells').Cell} Cell
 */

const MAX_BYTES = 25_000_000;

export class Attachments {
  #app;
  #notifications;

  /**
   * @param {JupyterFrontEnd} app @param {import('@jupyterlab/notebook').INotebookTracker} tracker
   * @param {typeof import('@jupyterlab/apputils').Notification} notifications
   */
  constructor(app, tracker, notifications) {
    this.#app = app;
    this.#notifications = notifications;
    tracker.widgetAdded.connect((_, panel) => this.#watch(panel));
    tracker.forEach(panel => this.#watch(panel));
  }

  /** Before the editor sees the event. @param {NotebookPanel} panel */
  #watch(panel) {
    panel.node.addEventListener('paste', event => this.#take(event, panel, event.clipboardData), true);
    panel.node.addEventListener('drop', event => this.#take(event, panel, event.dataTransfer), true);
    panel.node.addEventListener('dragover', event => {
      if (event.dataTransfer?.types.includes('Files') && this.#promptAt(panel, event.target)) event.preventDefault();
    }, true);
  }

  /** @param {Event} event @param {NotebookPanel} panel @param {DataTransfer | null} data */
  #take(event, panel, data) {
    const files = filesOf(data);
    const cell = this.#promptAt(panel, event.target);
    if (!files.length || !cell) return;
    event.preventDefault();
    event.stopPropagation();
    void this.#attach(panel, cell, files);
  }

  /** The prompt cell that an event is about. @param {NotebookPanel} panel @param {EventTarget | null} target */
  #promptAt(panel, target) {
    const cell = panel.content.widgets.find(({ node }) => target instanceof Node && node.contains(target));
    if (cell?.model.type !== 'code') return undefined;
    return isPrompt(cell.model.sharedModel.getSource(), languageOf(this.#app, panel)) ? cell : undefined;
  }

  /** @param {NotebookPanel} panel @param {Cell} cell @param {File[]} files */
  async #attach(panel, cell, files) {
    for (const file of files) {
      try {
        const name = await this.#save(panel, file);
        const source = cell.model.sharedModel;
        const { at, text } = attachment(source.getSource(), name);
        source.updateSource(at, at, text);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        this.#notifications.error(`${file.name} was not attached: ${reason}`, { autoClose: false });
      }
    }
  }

  /** @param {NotebookPanel} panel @param {File} file @returns {Promise<string>} The name beside the notebook. */
  async #save(panel, file) {
    if (file.size > MAX_BYTES) throw new Error(`It is larger than ${MAX_BYTES / 1_000_000} MB.`);
    const { contents } = this.#app.serviceManager;
    const folder = panel.context.path.replace(/[^/:]*$/, '');
    const listing = await contents.get(folder.replace(/\/$/, ''));
    const taken = new Set(listing.content.map((/** @type {{name: string}} */ entry) => entry.name));
    const name = freeName(file.name, taken);
    await contents.save(folder + name, { type: 'file', format: 'base64', content: await base64(file) });
    return name;
  }
}

/**
 * Office programs copy a picture of the text beside the text: that is text.
 * @param {DataTransfer | null} data @returns {File[]}
 */
function filesOf(data) {
  if (!data) return [];
  const isText = data.types.includes('text/plain') && data.types.includes('text/html');
  return isText ? [] : [...data.files];
}

/** @param {File} file @returns {Promise<string>} */
function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''));
    reader.onerror = () => reject(new Error('It cannot be read.'));
    reader.readAsDataURL(file);
  });
}
