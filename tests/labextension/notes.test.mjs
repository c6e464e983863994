import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Notes } from '../../widgets/labextension/static/notes.js';

const PROMPT = 'Do it';

/** A code cell, and what it holds. */
function cell(id, source = PROMPT, executionState = 'idle') {
  return { model: { id, type: 'code', executionState, sharedModel: { getSource: () => source } }, outputArea: { future: null } };
}

/** A notebook of these cells, which `users` have open; `me` is the first one. */
function panel(cells, users = ['me']) {
  const states = new Map(users.map((username, number) => [number, username ? { user: { username } } : {}]));
  const awareness = { getStates: () => states, getLocalState: () => states.get(0) };
  return { content: { widgets: cells }, context: { model: { sharedModel: { awareness } } } };
}

test('a cell is claimed once, by its source, the oldest run first', () => {
  const [first, second, other] = [cell('first'), cell('second'), cell('other', 'Something else')];
  const notes = new Notes();
  [second, other, first].forEach(each => notes.add({ cell: each }));
  const book = panel([first, second, other]);
  assert.deepEqual([1, 2, 3].map(() => notes.claim(book, PROMPT)), ['second', 'first', '']);
});

test('what the page has sent itself, ran in another notebook, or holds no code is not claimed', () => {
  const [own, text, elsewhere] = [cell('own'), cell('text'), cell('elsewhere')];
  text.model.type = 'markdown';
  const notes = new Notes();
  [own, text, elsewhere].forEach(each => notes.add({ cell: each }));
  own.outputArea.future = {};
  assert.equal(notes.claim(panel([own, text]), PROMPT), '');
});

test('a cell that was run twice is noted once, as it was run last', () => {
  const [first, second] = [cell('first'), cell('second')];
  const notes = new Notes();
  [first, second, first].forEach(each => notes.add({ cell: each }));
  const book = panel([first, second]);
  assert.deepEqual([1, 2, 3].map(() => notes.claim(book, PROMPT)), ['second', 'first', '']);
});

test('without a note, the only running cell with that source counts, if no other user is there', () => {
  const running = cell('running', PROMPT, 'running');
  const idle = [cell('idle'), cell('other', 'Something else', 'running')];
  const claim = (...of) => new Notes().claim(panel(...of), PROMPT);
  assert.equal(claim([running, ...idle]), 'running');
  assert.equal(claim([running, cell('again', PROMPT, 'running')]), '');
  assert.equal(claim(idle), '');
  assert.equal(claim([running], ['me', 'me', '']), 'running');
  assert.equal(claim([running], ['me', 'other']), '');
});
