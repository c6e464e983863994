// @ts-check
// The reason of a denial by keyboard: JupyterLab has keys of its own, and widgets have none.

const FORM = '.copilot-entry, .copilot-ask-form';

/** In fields of questions: Enter sends what allows nothing, Alt-Enter breaks the line, Esc goes back. */
export function answerByKeys() {
  // Before the page's own keys.
  window.addEventListener('keydown', event => {
    const field = event.target;
    const form = field instanceof HTMLElement && field.matches('textarea, input') ? field.closest(FORM) : null;
    if (!form || event.isComposing || !act(event, /** @type {HTMLElement} */ (field), form)) return;
    event.preventDefault();
    event.stopPropagation();
  }, true);
}

/** @param {KeyboardEvent} event @param {HTMLElement} field @param {Element} form Whether it was one of our keys. */
function act({ key, altKey }, field, form) {
  const [submit, back] = form.querySelectorAll('button');
  if (key === 'Escape') return press(back);
  if (key !== 'Enter' || field.tagName !== 'TEXTAREA' || submit.classList.contains('copilot-guarded')) return false;
  return altKey ? document.execCommand('insertText', false, '\n') : press(submit);
}

/** A widget's field sends its text when it is left. @param {HTMLElement} button */
function press(button) {
  button.focus();
  button.click();
  return true;
}
