// A click that was meant for what stood there before allows nothing: for a moment after a question has appeared, or has
// moved, the answers that allow are not to be pressed, and look so. They keep the focus. A no counts at once.

const GUARD = 700; // milliseconds: as in notebooks
const CALM = 1500; // after a guard, until what moves a question guards it again; twice as long each time
const MOVED = 4; // pixels

export class Guard {
  #cards = new Map();

  add(card) {
    this.#cards.set(card, { bottom: bottomOf(card), calm: CALM, calmUntil: 0, timer: 0 });
    this.hold(card);
  }

  remove(card) {
    clearTimeout(this.#cards.get(card)?.timer);
    this.#cards.delete(card);
  }

  clear() { for (const card of [...this.#cards.keys()]) this.remove(card); }

  hold(card) {
    const state = this.#cards.get(card);
    clearTimeout(state.timer);
    set(card, true);
    state.timer = setTimeout(() => set(card, false), GUARD);
  }

  holdAll() {
    for (const [card, state] of this.#cards) { state.bottom = bottomOf(card); this.hold(card); }
  }

  // The page has changed: guard what has moved, but only so often that it can be answered.
  look() {
    for (const [card, state] of this.#cards) {
      const bottom = bottomOf(card), now = performance.now();
      if (Math.abs(bottom - state.bottom) > MOVED && now >= state.calmUntil) {
        state.calmUntil = now + GUARD + state.calm;
        state.calm *= 2;
        this.hold(card);
      }
      state.bottom = bottom;
    }
  }

  // The reader has moved them himself.
  scrolled() { for (const [card, state] of this.#cards) state.bottom = bottomOf(card); }
}

// Runs `act` unless the button is guarded.
export function unlessHeld(made, act) {
  made.dataset.guarded = '';
  made.onclick = (event) => { if (isHeld(made)) event.preventDefault(); else act?.(event); };
}

export function isHeld(made) { return made.getAttribute('aria-disabled') === 'true'; }

function set(card, held) {
  for (const each of card.querySelectorAll('[data-guarded]')) each.setAttribute('aria-disabled', String(held));
}

function bottomOf(card) { return card.getBoundingClientRect().bottom; }
