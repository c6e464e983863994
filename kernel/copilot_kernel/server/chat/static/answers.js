// @ts-check
// The answers to a question in a page, in JupyterLab and in the chat: buttons, fields for text, and their guard.
// What they are, and what they are called, the kernel says (`copilot_widgets/answers.py`): as in cells.

/**
 * @typedef {{option: number, label: string, hint: string, is_suggested: boolean, is_guarded: boolean, is_remembered: boolean,
 *   rule: string, keep: string}} AnswerButton
 * @typedef {{option: number, label: string, hint: string, field: string, value: string, note: string, submit: string,
 *   submit_hint: string, if_empty: string, choices: AnswerButton[], fold: string}} TextAnswer
 * @typedef {{guard_seconds: number, calm_seconds: number}} Times How long a guard holds, and how long at least until the next.
 * @typedef {Times & {choices: AnswerButton[], reason: TextAnswer | null, rule: TextAnswer | null, last: AnswerButton[]}} Answers
 * @typedef {{option: number, reason?: string, rule?: string, keep?: string}} Reply The index of the option that was
 *   chosen, and what was entered.
 */

const MOVED = 4; // pixels
const MAX = 10000; // characters of a reason or a rule
const FORM = '.copilot-entry, .copilot-answer-form'; // in widgets and here

/**
 * The row of buttons, and the forms that stand in its place while they are open.
 * @param {Answers} answers @param {(reply: Reply) => void} settle Also called again, after a rule was refused.
 * @param {() => void} moved Called when buttons have moved to where others were.
 */
export function drawAnswers({ choices, reason, rule, last }, settle, moved) {
  const row = element('div', 'copilot-answers');
  /** @param {AnswerButton} choice */
  const draw = choice => choiceButton(choice, () => settle(replyOf(choice)));
  const forms = [];
  if (reason) forms.push(textAnswer('reason', reason, row, settle, moved));
  if (rule) {
    const made = textAnswer('rule', rule, row, settle, moved);
    unlessHeld(made.submit);
    made.form.prepend(...rule.choices.map(each => explained(draw(each), each.hint)));
    forms.push(made);
  }
  row.append(...choices.map(draw), ...forms.map(({ opener }) => opener), ...last.map(draw));
  row.append(element('span', 'copilot-answer-number'));
  return [row, ...forms.map(({ form }) => form)];
}

/** Which of several open questions each is. @param {HTMLElement[]} cards */
export function numberCards(cards) {
  cards.forEach((card, index) => {
    const place = card.querySelector('.copilot-answer-number');
    if (place) place.textContent = cards.length > 1 ? `${index + 1} of ${cards.length}` : '';
  });
}

/** What was entered does not count. @param {HTMLElement} card @param {string} words */
export function complain(card, words) {
  const place = card.querySelector('form:not([hidden]) [role=alert]');
  if (place) place.textContent = `⚠ ${words}`;
}

/** @param {AnswerButton} choice @param {() => void} act */
function choiceButton({ label, hint, is_suggested, is_guarded, is_remembered }, act) {
  const made = button(label, hint, act);
  made.classList.toggle('copilot-suggested', is_suggested);
  made.classList.toggle('copilot-quiet', is_remembered);
  if (is_guarded) unlessHeld(made, act);
  return made;
}

/**
 * Several questions may be open: each button is named by what it is about, too.
 * @param {string} label @param {string} hint @param {() => void} [act] Without it, the button submits its form.
 */
function button(label, hint, act) {
  const made = document.createElement('button');
  made.type = act ? 'button' : 'submit';
  made.textContent = label;
  made.title = hint ? `${label}: ${hint}` : label;
  made.setAttribute('aria-label', made.title);
  made.onclick = act ?? null;
  return made;
}

/** @param {AnswerButton} choice @returns {Reply} */
function replyOf({ option, rule, keep }) {
  return rule ? { option, rule, keep } : { option };
}

/** @param {HTMLElement} made @param {string} hint */
function explained(made, hint) {
  const row = element('p', 'copilot-answers');
  row.append(made, element('span', 'copilot-answer-note', hint));
  return row;
}

/**
 * A form in the place of the answers, and the button that opens it.
 * @param {'reason' | 'rule'} name @param {TextAnswer} answer @param {HTMLElement} row
 * @param {(reply: Reply) => void} settle @param {() => void} moved
 */
function textAnswer(name, answer, row, settle, moved) {
  const form = document.createElement('form');
  const title = element('label', '', answer.field);
  const field = document.createElement(name === 'reason' ? 'textarea' : 'input');
  const complaint = element('p', 'copilot-answer-complaint');
  const buttons = element('div', 'copilot-answers');
  const submit = button(answer.submit, answer.submit_hint);
  /** @param {boolean} open */
  const show = open => {
    form.hidden = !open;
    row.hidden = open;
    complaint.textContent = '';
    /** @type {HTMLElement | null} */ (open ? form.querySelector('button, textarea') : opener)?.focus({ preventScroll: true });
    form.scrollIntoView({ block: 'nearest' });
    moved();
  };
  const opener = button(answer.label, answer.hint, () => show(true));
  opener.classList.add('copilot-quiet');
  submit.classList.add('copilot-suggested');
  if (field instanceof HTMLTextAreaElement) field.rows = 3;
  field.value = answer.value;
  field.maxLength = MAX;
  field.spellcheck = name === 'reason';
  complaint.setAttribute('role', 'alert');
  title.append(field);
  const back = button('Back', '', () => show(false));
  back.classList.add('copilot-back');
  form.className = 'copilot-answer-form';
  form.hidden = true;
  const entry = [title, element('p', 'copilot-answer-note', answer.note), complaint];
  if (answer.fold) {
    const fold = element('details', '');
    const saving = element('div', 'copilot-answers');
    saving.append(submit);
    fold.append(element('summary', '', answer.fold), ...entry, saving);
    buttons.append(back);
    form.append(fold, buttons);
  } else {
    buttons.append(submit, back);
    form.append(...entry, buttons);
  }
  form.onsubmit = event => {
    event.preventDefault();
    const text = field.value.trim();
    if (isHeld(submit)) return;
    if (text) settle({ option: answer.option, [name]: text });
    else complaint.textContent = `⚠ ${answer.if_empty}`;
  };
  return { form, opener, submit };
}

/** @param {string} tag @param {string} className @param {string} text */
function element(tag, className, text = '') {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

// -- keys ---------------------------------------------------------------------------------------------------------------

/** In answers that are open: Enter in a field sends what allows nothing, Alt-Enter breaks the line, Esc goes back. */
export function answerByKeys() {
  window.addEventListener('focusin', ({ target }) => {
    if (target instanceof HTMLTextAreaElement && target.closest(FORM) && !isGuarded(target)) target.placeholder = 'Enter sends';
  });
  const opened = new MutationObserver(changes => changes.forEach(({ target }) => {
    if (target instanceof HTMLElement && target.matches(FORM)) target.scrollIntoView({ block: 'nearest' });
  }));
  // A form of widgets is shown whole before its field gets the focus, for which the browser would scroll further.
  window.addEventListener('click', ({ target }) => {
    const card = target instanceof HTMLElement ? target.closest('.copilot-question') : null;
    if (card) opened.observe(card, { attributeFilter: ['style'], subtree: true });
  }, true);
  // Before the page's own keys.
  window.addEventListener('keydown', event => {
    const field = event.target;
    const form = field instanceof HTMLElement ? field.closest(FORM) : null;
    if (!form || event.isComposing || !act(event, /** @type {HTMLElement} */ (field), form)) return;
    event.preventDefault();
    event.stopPropagation();
  }, true);
}

/** @param {KeyboardEvent} event @param {HTMLElement} field @param {Element} form Whether it was one of our keys. */
function act({ key, altKey }, field, form) {
  if (key === 'Escape') return press(/** @type {HTMLElement} */ (form.querySelector('.copilot-back')));
  if (key !== 'Enter' || field.tagName !== 'TEXTAREA' || isGuarded(field)) return false;
  return altKey ? document.execCommand('insertText', false, '\n') : press(firstButton(field));
}

/** What Enter presses. @param {Element} field */
function firstButton(field) {
  return /** @type {HTMLElement} */ (field.closest(FORM)?.querySelector('button'));
}

/** Whether sending would allow something. @param {Element} field */
function isGuarded(field) {
  return firstButton(field).classList.contains('copilot-guarded');
}

/** A widget's field sends its text when it is left. @param {HTMLElement} made */
function press(made) {
  made.focus({ preventScroll: true });
  made.click();
  return true;
}

// -- the guard ----------------------------------------------------------------------------------------------------------

/**
 * A click that was meant for what stood there before allows nothing: for a moment after a card has appeared, or has
 * moved, the answers that allow are not to be pressed, and look so. They keep the focus. A no counts at once.
 */
export class Guard {
  /** @type {Map<HTMLElement, {bottom: number, guard: number, calm: number, calmUntil: number, timer: ReturnType<typeof setTimeout> | undefined}>} */
  #cards = new Map();

  /** @param {HTMLElement} card @param {Times} times */
  add(card, { guard_seconds, calm_seconds }) {
    this.#cards.set(card, { bottom: bottomOf(card), guard: 1000 * guard_seconds, calm: 1000 * calm_seconds, calmUntil: 0, timer: undefined });
    this.#hold(card);
  }

  /** Those that remain move, under a pointer that has just clicked. @param {HTMLElement} card */
  remove(card) {
    clearTimeout(this.#cards.get(card)?.timer);
    this.#cards.delete(card);
    card.remove();
    this.holdAll();
  }

  clear() {
    for (const { timer } of this.#cards.values()) clearTimeout(timer);
    this.#cards.clear();
  }

  holdAll() {
    this.scrolled();
    for (const card of this.#cards.keys()) this.#hold(card);
  }

  /** The page has changed: guard what has moved, but only so often that it can be answered. */
  look() {
    for (const [card, state] of this.#cards) {
      const bottom = bottomOf(card);
      const now = performance.now();
      if (Math.abs(bottom - state.bottom) > MOVED && now >= state.calmUntil) {
        state.calmUntil = now + state.guard + state.calm;
        state.calm *= 2;
        this.#hold(card);
      }
      state.bottom = bottom;
    }
  }

  /** The reader has moved them himself. */
  scrolled() {
    for (const [card, state] of this.#cards) state.bottom = bottomOf(card);
  }

  /** @param {HTMLElement} card */
  #hold(card) {
    const state = this.#cards.get(card);
    clearTimeout(state?.timer);
    set(card, true);
    if (state) state.timer = setTimeout(() => set(card, false), state.guard);
  }
}

/** Runs `act` unless the button is guarded. @param {HTMLElement} made @param {() => void} [act] */
export function unlessHeld(made, act) {
  made.classList.add('copilot-guarded');
  made.onclick = event => {
    if (isHeld(made)) event.preventDefault();
    else act?.();
  };
}

/** @param {HTMLElement} made */
function isHeld(made) {
  return made.getAttribute('aria-disabled') === 'true';
}

/** @param {HTMLElement} card @param {boolean} held */
function set(card, held) {
  for (const each of card.querySelectorAll('.copilot-guarded')) each.setAttribute('aria-disabled', String(held));
}

/** @param {HTMLElement} card */
function bottomOf(card) {
  return card.getBoundingClientRect().bottom;
}
