import assert from 'node:assert/strict';
import { test } from 'node:test';

import { MissedTurns } from '../../widgets/labextension/static/missed.js';

test('a turn is reported as saved once a save that began after its end has completed', () => {
  const sent = [];
  let emit = () => {};
  const saveState = { connect: (slot, self) => { emit = state => slot.call(self, null, state); } };
  const panel = { context: { saveState, model: { collaborative: false } } };
  const turns = new MissedTurns(panel, {}, 'markdown', data => sent.push(data));
  emit('started');
  turns.ended('one', 1);
  emit('started'); // while the first save runs, which does not hold the turn
  emit('completed');
  assert.deepEqual(sent, []);
  emit('failed');
  emit('started');
  assert.deepEqual(sent, []);
  emit('completed');
  assert.deepEqual(sent, [{ saved: ['one'] }]);
});
