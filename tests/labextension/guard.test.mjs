// The guard of a question in a page: how often what moves a question keeps it from being answered.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Guard, unlessHeld } from '../../kernel/copilot_kernel/server/chat/static/answers.js';

const TIMES = { guard_seconds: 0.7, calm_seconds: 1.5 };

/** A card with one guarded button, in a page whose time the test sets. */
function scene(t) {
  let now = 0, bottom = 100, pressed = 0;
  const button = {
    classList: { add() {} }, held: 'false',
    getAttribute() { return this.held; },
    setAttribute(_, value) { this.held = value; },
  };
  const card = { getBoundingClientRect: () => ({ bottom }), querySelectorAll: () => [button] };
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(performance, 'now', () => now);
  unlessHeld(button, () => { pressed += 1; });
  return {
    card, guard: new Guard(),
    press() { button.onclick({ preventDefault() {} }); return pressed; },
    move(pixels) { bottom += pixels; },
    pass(milliseconds) { now += milliseconds; t.mock.timers.tick(milliseconds); },
    get isHeld() { return button.held === 'true'; },
  };
}

test('a click counts only when the question has stood there for a moment', t => {
  const { guard, card, press, pass } = scene(t);
  guard.add(card, TIMES);
  pass(699);
  assert.equal(press(), 0);
  pass(1);
  assert.equal(press(), 1);
});

test('what moves it guards it, but less and less often', t => {
  const { guard, card, move, pass } = scene(t);
  guard.add(card, TIMES);
  pass(700);
  let count = 0;
  for (let step = 0, wasHeld = false; step < 300; step += 1) {
    move(10);
    guard.look();
    const isHeld = card.querySelectorAll()[0].held === 'true';
    if (isHeld && !wasHeld) count += 1;
    wasHeld = isHeld;
    pass(100);
  }
  assert.ok(count >= 3 && count <= 5, String(count));
});

test('what the reader moves himself does not, nor does a change that moves nothing', t => {
  const made = scene(t);
  made.guard.add(made.card, TIMES);
  made.pass(700);
  made.move(300);
  made.guard.scrolled();
  made.guard.look();
  assert.equal(made.isHeld, false);
  made.move(300);
  made.guard.look();
  assert.equal(made.isHeld, true);
});
