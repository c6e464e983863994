// @ts-check
// Questions that wait: saves the notebook when one comes, names it for screen readers, notifies who looks elsewhere.

import { oneLine } from './text.js';

/**
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {import('./connection.js').EndedTurn} EndedTurn
 * @typedef {import('./settings.js').Settings} Settings
 * @typedef {import('./status.js').Announcer} Announcer
 * @typedef {import('@jupyterlab/notebook').NotebookPanel} Panel
 * @typedef {{connection: Connection, key: string, title: string, cell?: string}} Asked
 * @typedef {Asked & {settled: boolean, seen: boolean, notification: string, announced?: HTMLElement}} Question
 */

const SETTLE_MS = 500; // until the buttons are in the document; who answers at once is not notified
const TITLE = 70;
const ANNOUNCED = 250;
const OUTPUT = '.jp-OutputArea-child';
const OPEN = '.copilot-asked-open'; // what a saved question says instead of its buttons

export class Questions {
  #app;
  #notifications;
  #settings;
  #announcer;
  #saves;
  /** @type {Map<string, Question>} */
  #questions = new Map();

  /**
   * @param {import('@jupyterlab/application').JupyterFrontEnd} app
   * @param {typeof import('@jupyterlab/apputils').Notification} notifications
   * @param {Settings} settings @param {Announcer} announcer @param {import('./saves.js').Saves} saves
   */
  constructor(app, notifications, settings, announcer, saves) {
    this.#app = app;
    this.#notifications = notifications;
    this.#settings = settings;
    this.#announcer = announcer;
    this.#saves = saves;
    const look = () => this.#look();
    app.shell.currentChanged?.connect(look);
    document.addEventListener('visibilitychange', look);
    document.addEventListener('scroll', look, { capture: true, passive: true });
  }

  /** @param {Connection} connection */
  update(connection) {
    const { questions, panel } = connection;
    this.#saves.follow(panel);
    const named = new Map(questions.map(each => [`${panel.id} ${each.key} ${each.cell}`, each]));
    for (const [name, question] of this.#questions) {
      if (question.connection.panel === panel && !named.has(name)) {
        this.#say(question, connection.answered[question.key]);
        this.#withdraw(name, question);
      }
    }
    for (const [name, asked] of named) {
      if (!this.#questions.has(name)) this.#add(name, { connection, ...asked });
    }
  }

  /** Go to the question that has waited longest. */
  async showFirst() {
    const [first] = this.#questions.values();
    if (first) await this.#show(first);
  }

  /** Whether a question waits in a notebook. @param {Panel | null} panel */
  hasAny(panel) {
    return this.#in(panel).length > 0;
  }

  /** Go to a notebook's newest question. @param {Panel | null} panel */
  async showNewest(panel) {
    const newest = this.#in(panel).at(-1);
    if (newest) await this.#show(newest);
  }

  /** @param {Panel | null} panel */
  #in(panel) {
    return [...this.#questions.values()].filter(({ connection }) => connection.panel === panel);
  }

  /** A page that is loaded again finds the prompt. @param {Connection} connection */
  turnBegan(connection) {
    if (this.#settings.autosave) this.#saves.saveUnasked(connection.panel);
  }

  /** @param {Connection} connection @param {EndedTurn} turn */
  turnEnded(connection, { seconds = 0, cells = [], cell }) {
    const { panel, agent } = connection;
    const { notifyTurns, longTurn } = this.#settings;
    if (!notifyTurns || seconds < longTurn || this.#isShown(connection)) return;
    const changed = cells.length ? `, ${cells.length} ${cells.length === 1 ? 'cell' : 'cells'} changed` : '';
    const name = oneLine(panel.title.label, 40);
    const message = `${oneLine(agent, 30)} has finished in ${name} (${Math.round(seconds)} s${changed}).`;
    const actions = [{ label: 'Show', callback: () => void this.#go(connection, cell) }];
    this.#notifications.emit(message, 'success', { autoClose: false, actions });
  }

  /** @param {string} name @param {Asked} asked */
  #add(name, asked) {
    /** @type {Question} */
    const question = { ...asked, settled: false, seen: false, notification: '' };
    this.#questions.set(name, question);
    setTimeout(() => {
      question.settled = true;
      if (this.#questions.get(name) !== question) return;
      // A page that is loaded again shows what was saved: the buttons must be in it.
      if (!question.connection.elsewhere) this.#saves.saveUnasked(question.connection.panel);
      question.announced = this.#announcer.add(announcement(question));
      this.#card(question);
      this.#look();
    }, SETTLE_MS);
  }

  /**
   * Where another page shows the cell, this one keeps the question as it was saved: say what it was answered.
   * @param {Question} question @param {string} [words]
   */
  #say(question, words) {
    const { connection, cell = '' } = question;
    const beside = this.#in(connection.panel).filter(each => each.cell === cell);
    const cards = cardsOf(connection, cell); // these are still there
    if (!words || !connection.elsewhere || cards.length !== beside.length) return;
    const asked = cards[beside.indexOf(question)].closest(OUTPUT)?.previousElementSibling;
    asked?.querySelector(OPEN)?.replaceChildren(`${words[0].toUpperCase()}${words.slice(1)}.`);
  }

  /** @param {string} name @param {Question} question */
  #withdraw(name, question) {
    this.#questions.delete(name);
    question.announced?.remove();
    if (question.notification) this.#notifications.dismiss(question.notification);
  }

  /** Each question is announced once at most, and the notification goes when the question is seen. */
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
  #notify(question) {
    const { connection, title } = question;
    const name = oneLine(connection.panel.title.label, 30);
    const message = `${oneLine(connection.agent, 25)} asks in ${name}: ${oneLine(title, TITLE)}`;
    const actions = [{ label: 'Show', callback: () => void this.#show(question) }];
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
    const cards = cardsOf(connection, cell);
    return (cards.length ? cards : cellsOf(connection, cell)).some(node => {
      const { top, bottom } = node.getBoundingClientRect();
      return bottom > view.top && top < view.bottom;
    });
  }

  /** Typing must not answer: the card gets the focus, its buttons follow. @param {Question} question */
  async #show(question) {
    await this.#go(question.connection, question.cell);
    const card = this.#card(question);
    card?.scrollIntoView({ block: 'nearest' });
    card?.focus({ preventScroll: true });
  }

  /** @param {Connection} connection @param {string} [cell] */
  async #go({ panel, document }, cell) {
    if (panel.isDisposed) return;
    this.#app.shell.activateById(panel.id);
    if (cell !== undefined && document.has(cell)) await document.show(cell);
  }

  /** The buttons of a question, named for screen readers. @param {Question} question */
  #card(question) {
    const { connection, cell } = question;
    const beside = this.#in(connection.panel).filter(each => each.cell === cell);
    const cards = cardsOf(connection, cell);
    const card = cards[beside.indexOf(question)] ?? cards.at(-1);
    if (card) nameCard(card, announcement(question));
    return card;
  }
}

/** @param {Asked} question */
function announcement({ connection, title }) {
  return oneLine(`${connection.agent} asks: ${title}`, ANNOUNCED);
}

/** Widgets have tooltips, but no other names than their texts. @param {HTMLElement} card @param {string} name */
function nameCard(card, name) {
  card.tabIndex = -1;
  card.setAttribute('role', 'group');
  card.setAttribute('aria-label', name);
  for (const button of card.querySelectorAll('button')) {
    if (button.title) button.setAttribute('aria-label', button.title);
  }
}

/**
 * What holds the buttons of a cell's questions, or, without a cell, of those that the page asks, oldest first.
 * @param {Connection} connection @param {string} [cell] @returns {HTMLElement[]}
 */
function cardsOf(connection, cell) {
  const places = cell === undefined ? [connection.panel.node] : cellsOf(connection, cell);
  const selector = cell === undefined ? '.copilot-ask' : '.copilot-question';
  return places.flatMap(place => /** @type {HTMLElement[]} */ ([...place.querySelectorAll(selector)]));
}

/** The cell, if it is in the page. @param {Connection} connection @param {string} cell */
function cellsOf({ panel }, cell) {
  const widget = panel.content.widgets.find(({ model }) => model.id === cell);
  return widget?.isAttached ? [widget.node] : [];
}
