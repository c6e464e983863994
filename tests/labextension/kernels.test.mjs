import assert from 'node:assert/strict';
import { test } from 'node:test';

import { copilotKernel, followLanguages, languageOf } from '../../widgets/labextension/static/kernels.js';

const connect = () => {};
const specs = {
  python3: { language: 'python', argv: ['python', '-m', 'ipykernel_launcher'] },
  notes: { language: 'markdown', argv: ['notes'] },
  older: { language: 'copilot', argv: ['wrapper'] },
  ours: { language: 'markdown', argv: ['python', '-P', '-m', 'copilot_kernel', '-f', '{connection_file}'] },
};
const app = { serviceManager: { kernelspecs: { specs: { kernelspecs: specs }, specsChanged: { connect } } } };
const panel = (running, named, language) => ({
  sessionContext: { session: running && { kernel: { name: running } }, kernelChanged: { connect } },
  context: { model: { defaultKernelName: named, defaultKernelLanguage: language }, ready: Promise.resolve() },
});

test('a kernel is ours by what it starts, or by the language of earlier versions', () => {
  const languages = Object.keys(specs).map(name => languageOf(app, panel(name)));
  assert.deepEqual(languages, ['python', 'markdown', 'copilot', 'copilot']);
  assert.equal(copilotKernel(app), 'older');
});

test('until the kernel runs, a notebook is ours by the one that it names', () => {
  const of = (...args) => {
    const found = [];
    const tracker = { forEach: call => call(panel(...args)), widgetAdded: { connect } };
    followLanguages(app, tracker, (_, language) => found.push(language));
    return found[0];
  };
  assert.equal(of('', 'ours', 'markdown'), 'copilot');
  assert.equal(of('', 'gone', 'copilot'), 'copilot');
  assert.equal(of('', 'gone', 'markdown'), 'markdown');
  assert.equal(of('notes', 'ours', 'markdown'), 'markdown');
});
