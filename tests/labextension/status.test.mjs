import assert from 'node:assert/strict';
import { test } from 'node:test';

import { summary } from '../../widgets/labextension/static/status.js';

const idle = { agent: 'Copilot', state: 'idle', standing: '', questions: 0, elsewhere: false, current: true };
const menu = (mode, alarms) => ({ agent: 'Copilot', model: 'Sonnet', mode, alarms, sections: [] });
const working = { ...idle, agent: 'Other', state: 'working', current: false };

test('the status says what matters most', () => {
  const cases = [
    [[], { kind: '', text: '' }],
    [[{ ...idle, current: false }], { kind: '', text: '' }],
    [[idle], { kind: 'idle', text: 'Copilot' }],
    [[{ ...idle, state: '' }], { kind: '', text: '' }],
    [[{ ...idle, standing: 'does not ask:\nmode yolo' }], { kind: 'idle', text: 'Copilot · ⚠ does not ask: mode yolo' }],
    [[{ ...idle, standing: 'x', questions: 1 }, working], { kind: 'waiting', text: 'Copilot: 1 question waiting · ⚠ x' }],
    [[idle, working], { kind: 'working', text: 'Other · working' }],
    [[{ ...working, elsewhere: true }], { kind: 'working', text: 'Other · working in another page' }],
    [[{ ...idle, elsewhere: true }], { kind: 'idle', text: 'Copilot' }],
    [[working, { ...idle, state: 'working' }], { kind: 'working', text: 'Copilot · working' }],
    [[{ ...idle, menu: menu('Ask first', false) }], { kind: 'idle', text: 'Copilot · Sonnet · Ask first' }],
    [[{ ...idle, menu: menu('Allow everything', true) }], { kind: 'alarm', text: 'Copilot · Sonnet · ⚠ Allow everything' }],
    [[{ ...working, menu: menu('Allow everything', true) }], { kind: 'alarm', text: 'Other · working · Sonnet · ⚠ Allow everything' }],
    [[idle, { ...working, questions: 1 }], { kind: 'waiting', text: 'Other: 1 question waiting' }],
    [[{ ...idle, questions: 1 }, { ...working, questions: 2 }], { kind: 'waiting', text: 'Copilot: 3 questions waiting' }],
  ];
  for (const [known, expected] of cases) assert.deepEqual(summary(known), expected);
});
