// @ts-check
// What the agent does, at a glance: status bar, tabs of notebook and browser; for screen readers a live region.

import { oneLine } from './text.js';

/**
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {{agent: string, state: string, standing: string, questions: number, elsewhere: boolean, current: boolean,
 *   menu?: import('./connection.js').Menu}} Known
 * @typedef {{kind: 'waiting' | 'working' | 'alarm' | 'idle' | '', text: string}} Summary
 */

const MAX_STANDING = 80;
const MAX_NAME = 30;
const MARK = 'copilot-waiting';
const TITLE_MARK = '● ';

/**
 * Questions come first, wherever they wait; then the notebook in front; then any that works.
 * @param {Known[]} known @returns {Summary}
 */
export function summary(known) {
  const asking = known.filter(({ questions }) => questions > 0);
  const count = asking.reduce((sum, { questions }) => sum + questions, 0);
  if (count) {
    const questions = count === 1 ? '1 question' : `${count} questions`;
    return { kind: 'waiting', text: `${asking[0].agent}: ${questions} waiting${standing(asking[0])}` };
  }
  const working = known.filter(({ state }) => state === 'working');
  const [shown] = [...working.filter(({ current }) => current), ...working, ...known.filter(({ state, current, menu }) => (state || menu) && current)];
  if (!shown) return { kind: '', text: '' };
  const works = shown.state === 'working';
  const where = shown.elsewhere ? ' in another page' : '';
  const { model = '', mode = '', alarms = false } = shown.menu ?? {};
  const facts = [works ? `working${where}` : '', oneLine(model, MAX_NAME), alarms ? '' : mode].filter(Boolean);
  const alarm = alarms ? ` · ⚠ ${mode}` : '';
  const kind = alarms ? 'alarm' : works ? 'working' : 'idle';
  return { kind, text: [shown.agent, ...facts].join(' · ') + alarm + standing(shown) };
}

/** @param {Known} known */
function standing({ standing }) {
  return standing && ` · ⚠ ${oneLine(standing, MAX_STANDING)}`;
}

/** The item of the status bar. */
export class StatusItem {
  #text = document.createElement('span');

  /**
   * @param {typeof import('@lumino/widgets')} widgets @param {typeof import('@lumino/signaling')} signaling
   * @param {() => void} showFirst The question that has waited longest. @param {(anchor: HTMLElement) => void} openMenu
   */
  constructor(widgets, signaling, showFirst, openMenu) {
    const button = document.createElement('button');
    button.className = 'copilot-status';
    button.append(this.#text);
    button.addEventListener('click', () => (button.dataset.kind === 'waiting' ? showFirst() : openMenu(button)));
    this.button = button;
    this.widget = new widgets.Widget({ node: button });
    this.activeStateChanged = new signaling.Signal(this);
  }

  get isActive() {
    return this.button.dataset.kind !== '';
  }

  /** @param {Summary} summary */
  show({ kind, text }) {
    this.button.dataset.kind = kind;
    this.button.title = kind === 'waiting' ? 'Show the question' : 'Model, permissions, conversation, settings';
    this.button.setAttribute('aria-haspopup', String(kind !== 'waiting'));
    this.#text.textContent = text;
    this.activeStateChanged.emit(undefined);
  }
}

/** What screen readers say; it is in the page before it has words. */
export class Announcer {
  #region = document.createElement('div');

  constructor() {
    this.#region.className = 'copilot-announcer';
    this.#region.setAttribute('role', 'status');
    this.#region.setAttribute('aria-live', 'polite');
    this.#region.setAttribute('aria-atomic', 'false');
    document.body.append(this.#region);
  }

  /** Say `words`; remove the node when they are no longer true. @param {string} words */
  add(words) {
    const line = document.createElement('div');
    line.textContent = words;
    this.#region.append(line);
    return line;
  }
}

/** Mark a notebook's tab while a question waits in it. @param {Connection} connection */
export function markTab({ panel, questions }) {
  if (panel.isDisposed) return;
  const names = panel.title.className.split(' ').filter(name => name && name !== MARK);
  if (questions.length) names.push(MARK);
  panel.title.className = names.join(' ');
}

/** The browser's tab, marked while a question waits and nobody looks. JupyterLab writes the title anew at every save. */
export class BrowserTab {
  #waiting = false;

  constructor() {
    const title = document.querySelector('title');
    if (title) new MutationObserver(() => this.mark(this.#waiting)).observe(title, { childList: true });
  }

  /** @param {boolean} waiting */
  mark(waiting) {
    this.#waiting = waiting;
    const plain = document.title.startsWith(TITLE_MARK) ? document.title.slice(TITLE_MARK.length) : document.title;
    const title = waiting && document.hidden ? TITLE_MARK + plain : plain;
    if (document.title !== title) document.title = title;
  }
}
