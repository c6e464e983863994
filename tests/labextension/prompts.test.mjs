import assert from 'node:assert/strict';
import { test } from 'node:test';

import { attachment, demoOf, fixOf, freeName, isPrompt, promptAbout, revokeOf, undoOf } from '../../widgets/labextension/static/prompts.js';

const attached = (source, name) => {
  const { at, text } = attachment(source, name);
  return source.slice(0, at) + text + source.slice(at);
};

test('prompts name the cell', () => {
  assert.equal(promptAbout('ab12', 'python'), '%%copilot\n@cell:ab12 ');
  assert.equal(promptAbout('ab12', 'copilot'), '@cell:ab12 ');
  assert.equal(fixOf('ab12', true), '%copilot fix');
  assert.equal(fixOf('ab12', false), '%%copilot\nFix the error in @cell:ab12');
});

test('a turn is undone, and the demo agent used, by a command', () => {
  assert.equal(undoOf('3-0a1f', 'copilot'), '%undo 3-0a1f');
  assert.equal(undoOf('3-0a1f', 'python'), '%copilot %undo 3-0a1f');
  assert.equal(demoOf('copilot'), '%agent demo');
  assert.equal(demoOf('python'), '%copilot %agent demo');
  assert.equal(revokeOf('01234567', 'copilot'), '%permissions revoke 01234567');
  assert.equal(revokeOf('01234567', 'python'), '%copilot %permissions revoke 01234567');
});

test('a prompt cell is one that the agent gets', () => {
  assert.ok(isPrompt('%%copilot\nHello', 'python'));
  assert.ok(!isPrompt('print("%%copilot")', 'python'));
  assert.ok(!isPrompt('%%copilots', 'python'));
  assert.ok(isPrompt('', 'copilot'));
  assert.ok(isPrompt('%attach a.png\nHello', 'copilot'));
  assert.ok(!isPrompt('%mode plan', 'copilot'));
});

test('a file is attached above the prompt, below those before it', () => {
  assert.equal(attached('%%copilot', 'a.png'), '%%copilot\n%attach a.png\n');
  assert.equal(attached('%%copilot\nWhat is it?', 'a.png'), '%%copilot\n%attach a.png\nWhat is it?');
  assert.equal(attached('%%copilot\n%attach a.png\nBoth?', 'b c.png'), "%%copilot\n%attach a.png\n%attach 'b c.png'\nBoth?");
  assert.equal(attached('What is it?', 'a.png'), '%attach a.png\nWhat is it?');
  assert.equal(attached('', 'a.png'), '%attach a.png\n');
});

test('a new file has a harmless name that no other file has', () => {
  assert.equal(freeName('image.png', new Set()), 'image.png');
  assert.equal(freeName('image.png', new Set(['image.png', 'image-2.png'])), 'image-3.png');
  assert.equal(freeName('../.ssh/config', new Set()), '_.ssh_config');
  assert.equal(freeName("-rf 'x';$(y).csv", new Set()), 'rf _x____y_.csv');
  assert.equal(freeName('...', new Set()), 'file');
  assert.equal(freeName('Übersicht.csv', new Set()), 'Übersicht.csv');
});
