// @ts-check
// Questions that the page itself shows, because the kernel is blocked and widgets do not work then.

import { visible } from './text.js';

/**
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {import('./connection.js').Ask} Ask
 */

const GUARD_MS = 500; // a click that was meant for what stood here before

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
  }

  /** @param {Connection} connection @param {Ask} ask */
  #add(connection, ask) {
    const card = cardOf(ask, option => connection.answer(ask.key, option));
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
  }
}

/** It takes no focus by itself: typing must not answer. @param {Ask} ask @param {(option: string) => void} answer */
function cardOf({ title, text, options }, answer) {
  const card = element('section', 'copilot-ask');
  card.setAttribute('role', 'group');
  card.setAttribute('aria-label', visible(title));
  const heading = element('div', 'copilot-ask-title', visible(title));
  const row = element('div', 'copilot-ask-options');
  const buttons = options.map(({ id, name, label, kind }) => {
    const button = /** @type {HTMLButtonElement} */ (element('button', 'copilot-ask-option jp-mod-styled', visible(name)));
    if (label) button.setAttribute('aria-label', visible(label));
    button.dataset.kind = kind;
    button.disabled = true;
    button.addEventListener('click', () => answer(id));
    return button;
  });
  row.append(...buttons);
  card.append(heading);
  if (text) card.append(element('pre', 'copilot-ask-text', visible(text)));
  card.append(row);
  setTimeout(() => buttons.forEach(button => (button.disabled = false)), GUARD_MS);
  return card;
}

/** @param {string} tag @param {string} className @param {string} text */
function element(tag, className, text = '') {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}
