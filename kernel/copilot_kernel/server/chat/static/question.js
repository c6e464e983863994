// The card of a question. What its buttons are, and what they are called, says the server: as in notebooks.

import { button, element, write } from './elements.js';
import { isHeld, unlessHeld } from './guard.js';

const MAX = 10000; // characters of a reason or a rule

// settle({ option, reason, rule }) is called with what was chosen; moved() when buttons have moved to where others were.
export function drawQuestion(slot, { html, about, options, answers }, settle, moved) {
  const { choices, reason, rule, last } = answers;
  const body = element('div', 'body');
  const row = element('div', 'answers');
  const choice = (each) => choiceButton(each, () => settle({ option: options[each.option] }));
  write(body, html);
  const forms = [
    reason && textAnswer(row, reason, element('textarea'), moved, (text) => settle({ option: options[reason.option], reason: text })),
    rule && textAnswer(row, rule, element('input'), moved, (text) => settle({ option: options[rule.option], rule: text })),
  ].filter(Boolean);
  if (rule) {
    const { form, submit } = forms.at(-1);
    submit.classList.add('suggested');
    unlessHeld(submit);
    form.append(...rule.choices.map((each) => explained(choice(each), each.hint)));
  }
  row.append(...choices.map(choice), ...forms.map(({ opener }) => opener), ...last.map(choice), element('span', 'number'));
  slot.setAttribute('aria-label', `Question: ${about}`);
  slot.tabIndex = -1;
  slot.replaceChildren(body, row, ...forms.map(({ form }) => form));
}

export function numberQuestions(slots) {
  slots.forEach((slot, index) => {
    slot.querySelector('.number').textContent = slots.length > 1 ? `${index + 1} of ${slots.length}` : '';
  });
}

export function complain(slot, words) {
  const place = slot.querySelector('form:not([hidden]) .complaint');
  if (place) place.textContent = `⚠ ${words}`;
}

// Several questions may be open: each button is named by what it is about, too.
function named(made, label, hint) {
  made.title = `${label}: ${hint}`;
  made.setAttribute('aria-label', made.title);
  return made;
}

function choiceButton({ label, hint, is_suggested: suggested, is_guarded: guarded, is_remembered: quiet }, act) {
  const made = named(button([suggested && 'suggested', quiet && 'quiet'].filter(Boolean).join(' '), label, act), label, hint);
  if (guarded) unlessHeld(made, act);
  return made;
}

function explained(made, hint) {
  const row = element('p', 'answers');
  row.append(made, element('span', 'hint', hint));
  return row;
}

// A form in the place of the answers, and the button that opens it; `act` gets what was written.
function textAnswer(row, { label, hint, field: name, value, note, submit: words, submit_hint: why, if_empty: missing }, field, moved, act) {
  const form = element('form', 'written');
  const title = element('label', '', name);
  const complaint = element('p', 'complaint');
  const buttons = element('div', 'answers');
  const submit = named(element('button', '', words), words, why);
  const show = (open) => {
    form.hidden = !open; row.hidden = open;
    complaint.textContent = '';
    (open ? field : opener).focus();
    moved();
  };
  const opener = named(button('quiet', label, () => show(true)), label, hint);
  field.value = value; field.maxLength = MAX; field.spellcheck = !value;
  if (field.rows) {
    field.rows = 3;
    submit.classList.add('suggested');
  }
  form.onkeydown = (event) => {
    if (event.isComposing || event.target !== field) return;
    const { key, altKey } = event;
    if (key === 'Escape') show(false);
    else if (key !== 'Enter' || !field.rows) return;
    else if (altKey) document.execCommand('insertText', false, '\n');
    else form.requestSubmit();
    event.preventDefault();
    event.stopPropagation();
  };
  complaint.setAttribute('role', 'alert');
  title.append(field);
  buttons.append(submit, button('', 'Back', () => show(false)));
  form.hidden = true;
  form.append(title, element('p', 'hint', note), complaint, buttons);
  form.onsubmit = (event) => {
    event.preventDefault();
    if (isHeld(submit)) return;
    const text = field.value.trim();
    if (text || !missing) act(text); else complaint.textContent = `⚠ ${missing}`;
  };
  return { form, opener, submit };
}
