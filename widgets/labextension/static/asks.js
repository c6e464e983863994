// @ts-check
// Questions that the page itself shows, because the kernel is blocked and widgets do not work then.

import { visible } from './text.js';

/**
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {import('./connection.js').Ask} Ask
 */

const GUARD_MS = 700; // a click that was meant for what stood here before allows nothing

export class AskCards {
  /** @type {Map<Ask, HTMLElement>} */
  #cards = new Map();

  /** Show the questions that are open, and only those. @param {Connection} connection */
  update(connection) {
    const open = new Set(connection.asks.values());
    for (const [ask, card] of this.#cards) {
      if (connection.panel.node.contains(card) && !open.has(ask)) this.#remove(ask, card);
    }
    for (const ask of open) {
      if (!this.#cards.has(ask)) this.#add(connection, ask);
    }
    const cards = [...open].map(ask => this.#cards.get(ask));
    cards.forEach((card, index) => number(card, index + 1, cards.length));
  }

  /** @param {Connection} connection @param {Ask} ask */
  #add(connection, ask) {
    const card = cardOf(connection.panel, ask, (option, reason) => connection.answer(ask.key, option, reason));
    this.#cards.set(ask, card);
    let stack = connection.panel.node.querySelector('.copilot-asks');
    if (!stack) {
      stack = element('div', 'copilot-asks');
      connection.panel.node.append(stack);
    }
    stack.append(card);
  }

  /** @param {Ask} ask @param {HTMLElement} card */
  #remove(ask, card) {
    const stack = card.parentElement;
    card.remove();
    if (!stack?.hasChildNodes()) stack?.remove();
    this.#cards.delete(ask);
    this.#cards.forEach(hold); // they move up, under a pointer that has just clicked
  }
}

/**
 * The card as it is in cells. It takes no focus by itself: typing must not answer.
 * @param {import('./connection.js').NotebookPanel} panel @param {Ask} ask
 * @param {(option: string, reason?: string) => void} answer
 */
function cardOf(panel, { title, html, options, reason }, answer) {
  const card = element('section', 'copilot-ask');
  card.setAttribute('role', 'group');
  card.setAttribute('aria-label', visible(title));
  const { rendermime } = panel.content;
  const body = rendermime.createRenderer('text/html');
  void body.renderModel(rendermime.createModel({ data: { 'text/html': html }, trusted: false }));
  const row = element('div', 'copilot-ask-options');
  for (const option of options) row.append(buttonOf(option, () => answer(option.id)));
  card.append(body.node, row);
  if (reason) {
    const { form, opener } = reasonForm(reason, row, () => hold(card), text => answer(reason.id, text));
    row.insertBefore(opener, row.querySelector('.copilot-quiet'));
    card.append(form);
  }
  row.append(element('span', 'copilot-ask-number'));
  hold(card);
  return card;
}

/** @param {import('./connection.js').Option} option @param {() => void} act */
function buttonOf({ name, label, kind, suggested, guarded, quiet }, act) {
  const made = /** @type {HTMLButtonElement} */ (element('button', 'copilot-ask-option jp-mod-styled', visible(name)));
  made.type = 'button';
  made.title = visible(label ?? name);
  made.setAttribute('aria-label', made.title);
  if (kind) made.dataset.kind = kind;
  made.classList.toggle('jp-mod-accept', Boolean(suggested));
  made.classList.toggle('copilot-guarded', Boolean(guarded));
  made.classList.toggle('copilot-quiet', Boolean(quiet));
  made.addEventListener('click', act);
  return made;
}

/**
 * A form in the place of the answers, and the button that opens it.
 * @param {import('./connection.js').Reason} reason @param {HTMLElement} row @param {() => void} moved
 * @param {(text: string) => void} send
 */
function reasonForm({ name, label, field, note, submit, missing }, row, moved, send) {
  const form = /** @type {HTMLFormElement} */ (element('form', 'copilot-ask-form'));
  const title = element('label', '', field);
  const area = document.createElement('textarea');
  const complaint = element('div', '');
  const buttons = element('div', 'copilot-ask-options');
  /** @param {boolean} open */
  const show = open => {
    form.hidden = !open;
    row.hidden = open;
    (open ? area : opener).focus();
    moved();
  };
  const opener = buttonOf({ id: '', name, label, kind: '', quiet: true }, () => show(true));
  const sender = buttonOf({ id: '', name: submit, kind: '' }, () => undefined);
  sender.type = 'submit';
  area.rows = 3;
  complaint.setAttribute('role', 'alert');
  title.append(area);
  buttons.append(sender, buttonOf({ id: '', name: 'Back', kind: '' }, () => show(false)));
  form.append(title, element('div', 'copilot-ask-note', note), complaint, buttons);
  form.hidden = true;
  form.addEventListener('submit', event => {
    event.preventDefault();
    if (area.value.trim()) send(area.value.trim());
    else complaint.textContent = `⚠ ${missing}`;
  });
  return { form, opener };
}

/** @type {WeakMap<HTMLElement, number>} */
const timers = new WeakMap();

/** For a moment, nothing that allows can be pressed. @param {HTMLElement} card */
function hold(card) {
  const guarded = /** @type {NodeListOf<HTMLButtonElement>} */ (card.querySelectorAll('.copilot-guarded'));
  guarded.forEach(each => (each.disabled = true));
  clearTimeout(timers.get(card));
  timers.set(card, window.setTimeout(() => guarded.forEach(each => (each.disabled = false)), GUARD_MS));
}

/** @param {HTMLElement | undefined} card @param {number} place @param {number} count */
function number(card, place, count) {
  const words = card?.querySelector('.copilot-ask-number');
  if (words) words.textContent = count > 1 ? `${place} of ${count}` : '';
}

/** @param {string} tag @param {string} className @param {string} text */
function element(tag, className, text = '') {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}
