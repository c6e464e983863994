// @ts-check
// Questions that the page itself shows, because the kernel is blocked and widgets do not work then.

import { visible } from './text.js';

/**
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {import('./connection.js').Ask} Ask
 * @typedef {import('./connection.js').Answer} Answer
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

  /** What was entered does not count. @param {Ask} ask @param {string} words */
  complain(ask, words) {
    const card = this.#cards.get(ask);
    const place = card?.querySelector('.copilot-ask-form:not([hidden]) [role=alert]');
    if (!card || !place) return;
    place.textContent = `⚠ ${visible(words)}`;
    hold(card);
  }

  /** @param {Connection} connection @param {Ask} ask */
  #add(connection, ask) {
    const card = cardOf(connection.panel, ask, answer => connection.answer(ask.key, answer));
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
 * @param {import('./connection.js').NotebookPanel} panel @param {Ask} ask @param {(answer: Answer) => void} settle
 */
function cardOf(panel, { title, html, answers: { choices, reason, rule, last } }, settle) {
  const card = element('section', 'copilot-ask');
  card.setAttribute('role', 'group');
  card.setAttribute('aria-label', visible(title));
  const { rendermime } = panel.content;
  const body = rendermime.createRenderer('text/html');
  void body.renderModel(rendermime.createModel({ data: { 'text/html': html }, trusted: false }));
  const row = element('div', 'copilot-ask-options');
  const moved = () => hold(card);
  const forms = [];
  if (reason) {
    const area = document.createElement('textarea');
    area.rows = 3;
    const made = formOf(reason, area, row, moved, text => settle({ option: reason.option, reason: text }));
    made.submit.classList.add('jp-mod-accept');
    forms.push(made);
  }
  if (rule) {
    const field = document.createElement('input');
    const made = formOf(rule, field, row, moved, (text, keep) => settle({ option: rule.option, rule: text, keep }));
    made.submit.classList.add('jp-mod-accept', 'copilot-guarded');
    made.form.append(...rule.choices.map(each => explained(choiceOf(each, settle), each.hint)));
    forms.push(made);
  }
  row.append(...choices.map(each => choiceOf(each, settle)), ...forms.map(({ opener }) => opener));
  row.append(...last.map(each => choiceOf(each, settle)), element('span', 'copilot-ask-number'));
  card.append(body.node, row, ...forms.map(({ form }) => form));
  hold(card);
  return card;
}

/** @param {import('./connection.js').Choice} choice @param {(answer: Answer) => void} settle */
function choiceOf({ option, label, hint, is_suggested, is_guarded, is_remembered }, settle) {
  const made = buttonOf(label, hint, () => settle({ option }));
  made.classList.toggle('jp-mod-accept', is_suggested);
  made.classList.toggle('copilot-guarded', is_guarded);
  made.classList.toggle('copilot-quiet', is_remembered);
  return made;
}

/** @param {string} label @param {string} hint What it answers, for screen readers. @param {() => void} [act] */
function buttonOf(label, hint, act) {
  const made = /** @type {HTMLButtonElement} */ (element('button', 'copilot-ask-option jp-mod-styled', visible(label)));
  made.type = act ? 'button' : 'submit';
  made.title = visible(hint ? `${label}: ${hint}` : label);
  made.setAttribute('aria-label', made.title);
  if (act) made.addEventListener('click', act);
  return made;
}

/** @param {HTMLElement} made @param {string} hint */
function explained(made, hint) {
  const row = element('div', 'copilot-ask-options');
  row.append(made, element('span', 'copilot-ask-note', visible(hint)));
  return row;
}

/**
 * A form in the place of the answers, and the button that opens it.
 * @param {import('./connection.js').TextAnswer} answer @param {HTMLInputElement | HTMLTextAreaElement} input
 * @param {HTMLElement} row @param {() => void} moved @param {(text: string, keep: string) => void} send
 */
function formOf(answer, input, row, moved, send) {
  const form = /** @type {HTMLFormElement} */ (element('form', 'copilot-ask-form'));
  const field = element('label', '', answer.field);
  const complaint = element('div', '');
  const buttons = element('div', 'copilot-ask-options');
  /** @param {boolean} open */
  const show = open => {
    form.hidden = !open;
    row.hidden = open;
    complaint.textContent = '';
    (open ? input : opener).focus();
    moved();
  };
  const opener = buttonOf(answer.label, answer.hint, () => show(true));
  const submit = buttonOf(answer.submit, answer.submit_hint);
  opener.classList.add('copilot-quiet');
  input.value = answer.value;
  complaint.setAttribute('role', 'alert');
  field.append(input);
  buttons.append(submit, buttonOf('Back', '', () => show(false)));
  form.append(field, element('div', 'copilot-ask-note', answer.note), ...answer.places.map(placeOf), complaint, buttons);
  form.hidden = true;
  form.addEventListener('submit', event => {
    event.preventDefault();
    const text = input.value.trim();
    if (text) send(text, String(new FormData(form).get('keep') ?? ''));
    else complaint.textContent = `⚠ ${answer.if_empty}`;
  });
  return { form, opener, submit };
}

/** @param {import('./connection.js').Place} place @param {number} index */
function placeOf({ keep, label }, index) {
  const made = element('label', 'copilot-ask-place');
  const radio = document.createElement('input');
  radio.type = 'radio';
  radio.name = 'keep';
  radio.value = keep;
  radio.defaultChecked = index === 0;
  made.append(radio, label);
  return made;
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
