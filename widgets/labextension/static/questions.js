// @ts-check
// Questions that wait: saves the notebook when one comes, and says so where nobody looks at it.

import { oneLine } from './text.js';

/**
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {import('./connection.js').EndedTurn} EndedTurn
 * @typedef {import('./settings.js').Settings} Settings
 * @typedef {{connection: Connection, title: string, cell?: string}} Asked
 * @typedef {Asked & {settled: boolean, seen: boolean, notification: string}} Question
 */

const SETTLE_MS = 500; // until the buttons are in the document; who answers at once is not notified
const TITLE = 70;
const SAME_MS = 500; // between two times of one file, as JupyterLab has it

export class Questions {
  #app;
  #notifications;
  #settings;
  /** @type {Map<string, Question>} */
  #questions = new Map();
  /** The last save of each notebook. @type {WeakMap<object, Promise<void>>} */
  #saves = new WeakMap();

  /**
   * @param {import('@jupyterlab/application').JupyterFrontEnd} app
   * @param {typeof import('@jupyterlab/apputils').Notification} notifications
   * @param {Settings} settings
   */
  constructor(app, notifications, settings) {
    this.#app = app;
    this.#notifications = notifications;
    this.#settings = settings;
    const look = () => this.#look();
    app.shell.currentChanged?.connect(look);
    document.addEventListener('visibilitychange', look);
    document.addEventListener('scroll', look, { capture: true, passive: true });
  }

  /** @param {Connection} connection */
  update(connection) {
    const { questions, panel } = connection;
    const open = new Set(questions.map(({ key }) => `${panel.id} ${key}`));
    for (const [name, question] of this.#questions) {
      if (question.connection.panel === panel && !open.has(name)) this.#withdraw(name, question);
    }
    for (const { key, title, cell } of questions) {
      const name = `${panel.id} ${key}`;
      if (!this.#questions.has(name)) this.#add(name, { connection, title, cell });
    }
  }

  /** Go to the question that has waited longest. */
  async showFirst() {
    const [first] = this.#questions.values();
    if (first) await this.#show(first.connection, first.cell);
  }

  /** @param {Connection} connection @param {EndedTurn} turn */
  turnEnded(connection, { seconds = 0, cells = [], cell }) {
    const { panel, agent } = connection;
    const { notifyTurns, longTurn } = this.#settings;
    if (!notifyTurns || seconds < longTurn || this.#isShown(connection)) return;
    const changed = cells.length ? `, ${cells.length} ${cells.length === 1 ? 'cell' : 'cells'} changed` : '';
    const name = oneLine(panel.title.label, 40);
    const message = `${oneLine(agent, 30)} has finished in ${name} (${Math.round(seconds)} s${changed}).`;
    const actions = [{ label: 'Show', callback: () => void this.#show(connection, cell) }];
    this.#notifications.emit(message, 'success', { autoClose: false, actions });
  }

  /** @param {string} name @param {Asked} asked */
  #add(name, asked) {
    const question = { ...asked, settled: false, seen: false, notification: '' };
    this.#questions.set(name, question);
    setTimeout(() => {
      question.settled = true;
      if (this.#questions.get(name) !== question) return;
      this.#save(question.connection);
      this.#look();
    }, SETTLE_MS);
  }

  /**
   * A page that is loaded again shows what was saved: the buttons must be in it. One after the other: JupyterLab would
   * take one of two saves at once for a change by somebody else, and ask.
   * @param {Connection} connection
   */
  #save({ panel }) {
    const before = this.#saves.get(panel) ?? Promise.resolve();
    this.#saves.set(panel, before.then(() => this.#saveNow(panel)));
  }

  /** @param {import('@jupyterlab/notebook').NotebookPanel} panel */
  async #saveNow({ isDisposed, context }) {
    const { contentsModel, model, path } = context;
    if (isDisposed || !model.dirty || !contentsModel?.writable) return;
    try {
      const { last_modified: saved } = await this.#app.serviceManager.contents.get(path, { content: false });
      // What another window has saved is not for us to overwrite.
      if (Date.parse(saved) - Date.parse(contentsModel.last_modified) <= SAME_MS) await context.save();
    } catch (error) {
      console.warn('The notebook could not be saved:', error);
    }
  }

  /** @param {string} name @param {Question} question */
  #withdraw(name, question) {
    this.#questions.delete(name);
    if (question.notification) this.#notifications.dismiss(question.notification);
  }

  /** Each question is told once at most, and the notification goes when the question is seen. */
  #look() {
    for (const question of this.#questions.values()) {
      if (!question.settled || question.seen) continue;
      if (this.#isSeen(question)) {
        question.seen = true;
        if (question.notification) this.#notifications.dismiss(question.notification);
      } else if (!question.notification && this.#settings.notifyQuestions) {
        question.notification = this.#notify(question);
      }
    }
  }

  /** @param {Question} question */
  #notify({ connection, title, cell }) {
    const name = oneLine(connection.panel.title.label, 30);
    const message = `${oneLine(connection.agent, 25)} asks in ${name}: ${oneLine(title, TITLE)}`;
    const actions = [{ label: 'Show', callback: () => void this.#show(connection, cell) }];
    return this.#notifications.emit(message, 'warning', { autoClose: false, actions });
  }

  /** @param {Connection} connection */
  #isShown({ panel }) {
    return !document.hidden && panel.isVisible;
  }

  /** @param {Question} question */
  #isSeen({ connection, cell }) {
    if (!this.#isShown(connection)) return false;
    if (cell === undefined) return true;
    const view = connection.panel.content.outerNode.getBoundingClientRect();
    return nodesOf(connection, cell).some(node => {
      const { top, bottom } = node.getBoundingClientRect();
      return bottom > view.top && top < view.bottom;
    });
  }

  /** @param {Connection} connection @param {string} [cell] */
  async #show(connection, cell) {
    if (connection.panel.isDisposed) return;
    this.#app.shell.activateById(connection.panel.id);
    if (cell === undefined || !connection.document.has(cell)) return;
    await connection.document.show(cell);
    nodesOf(connection, cell).at(-1)?.scrollIntoView({ block: 'nearest' });
  }
}

/**
 * The buttons of a cell's questions, or the whole cell if there are none yet.
 * @param {Connection} connection @param {string} cell
 */
function nodesOf({ panel }, cell) {
  const widget = panel.content.widgets.find(({ model }) => model.id === cell);
  if (!widget?.isAttached) return [];
  const buttons = [...widget.node.querySelectorAll('.copilot-question')];
  return buttons.length ? buttons : [widget.node];
}
