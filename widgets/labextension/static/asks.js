// @ts-check
// Questions that the page itself shows, because the kernel is blocked and widgets do not work then.

import { Guard, complain, drawAnswers, numberCards } from '../../../kernel/copilot_kernel/server/chat/static/answers.js';
import { visible } from './text.js';

/**
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {import('./connection.js').Ask} Ask
 */

export class AskCards {
  /** @type {Map<Ask, HTMLElement>} */
  #cards = new Map();
  #guard = new Guard();

  /** Show the questions that are open, and only those. @param {Connection} connection */
  update(connection) {
    const open = [...connection.asks.values()];
    for (const [ask, card] of this.#cards) {
      if (connection.panel.node.contains(card) && !open.includes(ask)) this.#remove(ask, card);
    }
    numberCards(open.map(ask => this.#cards.get(ask) ?? this.#add(connection, ask)));
  }

  /** What was entered does not count. @param {Ask} ask @param {string} words */
  complain(ask, words) {
    const card = this.#cards.get(ask);
    if (card) complain(card, visible(words));
    this.#guard.holdAll();
  }

  /** The card as it is in cells. It takes no focus by itself: typing must not answer. @param {Connection} connection @param {Ask} ask */
  #add(connection, ask) {
    const { content, node } = connection.panel;
    const card = made('section', 'copilot-ask');
    card.setAttribute('role', 'group');
    card.setAttribute('aria-label', visible(ask.title));
    const body = content.rendermime.createRenderer('text/html');
    void body.renderModel(content.rendermime.createModel({ data: { 'text/html': ask.html }, trusted: false }));
    const answers = drawAnswers(ask.answers, reply => connection.answer(ask.key, reply), () => this.#guard.holdAll());
    card.append(...answers);
    card.querySelectorAll('button').forEach(each => each.classList.add('jp-mod-styled'));
    card.querySelectorAll('.copilot-suggested').forEach(each => each.classList.add('jp-mod-accept'));
    card.prepend(body.node);
    const stack = node.querySelector('.copilot-asks') ?? node.appendChild(made('div', 'copilot-asks'));
    stack.append(card);
    this.#cards.set(ask, card);
    this.#guard.add(card, ask.answers);
    return card;
  }

  /** @param {Ask} ask @param {HTMLElement} card */
  #remove(ask, card) {
    const stack = card.parentElement;
    this.#cards.delete(ask);
    this.#guard.remove(card);
    if (!stack?.hasChildNodes()) stack?.remove();
  }
}

/** @param {string} tag @param {string} className */
function made(tag, className) {
  const element = document.createElement(tag);
  element.className = className;
  return element;
}
