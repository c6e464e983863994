import assert from 'node:assert/strict';
import { test } from 'node:test';

import { bounded, crc32, cut, difference, oneLine, portable, visible } from '../../widgets/labextension/static/text.js';

const applied = (before, { start, end, text }) => before.slice(0, start) + text + before.slice(end);

test('a checksum is that of the text in UTF-8, as the kernel computes it', () => {
  assert.deepEqual(['', '123456789', 'é😀\n'].map(crc32), [0, 0xcbf43926, 0xdbcb23fc]);
});

test('a difference is the smallest part that changes', () => {
  assert.deepEqual(difference('x = 1\ny = 2', 'x = 10\ny = 2'), { start: 5, end: 5, text: '0' });
  assert.deepEqual(difference('aaa', 'aa'), { start: 2, end: 3, text: '' });
  assert.deepEqual(difference('same', 'same'), { start: 4, end: 4, text: '' });
});

test('a difference splits no surrogate pair, and leads to the new text', () => {
  const texts = ['', 'a', '😀', '😁', 'a😀b', 'a😁b', '😀😀', '𐐀', '\u{1F400}\u{10400}', 'x😀', '😀x'];
  for (const before of texts) {
    for (const after of texts) {
      const found = difference(before, after);
      assert.equal(applied(before, found), after);
      for (const part of [before.slice(0, found.start), before.slice(found.end), found.text]) assert.ok(part.isWellFormed());
    }
  }
});

test('a long text is cut with a mark, and not within a character', () => {
  assert.equal(cut('abcdef', 6), 'abcdef');
  assert.equal(cut('abcdefg', 4), 'abc\n… 3 characters left out …\ng');
  assert.equal(cut('a😀b', 2), 'a\n… 3 characters left out …\n');
  assert.equal(cut('ab😀😀c', 4), 'ab\n… 4 characters left out …\nc');
  assert.equal(cut('abc', 0), '\n… 3 characters left out …\n');
});

test('outputs keep texts up to the limit and images that fit', () => {
  const data = {
    'text/plain': ['long ', 'text'],
    'image/png': 'a'.repeat(1000),
    'image/jpeg': 'a'.repeat(7_000_000),
    'image/gif': 'R0lG',
    'application/pdf': 'JVBE',
    'application/json': { small: 1 },
    'application/vnd.plotly.v1+json': { large: 'x'.repeat(100) },
    'text/html': `<style>${'x'.repeat(100)}</style><b>read</b>`,
    'image/svg+xml': `<g href="data:image/png;base64,${'x'.repeat(100)}">`,
  };
  const output = { output_type: 'display_data', data, metadata: { isolated: true } };
  assert.deepEqual(bounded(output, 12), {
    output_type: 'display_data',
    metadata: {},
    data: {
      'text/plain': 'long text',
      'image/png': 'a'.repeat(1000),
      'image/jpeg': '',
      'image/gif': '',
      'application/json': { small: 1 },
      'application/vnd.plotly.v1+json': '{"large":\n… 100 characters left out …\nx"}',
      'text/html': '<b>read</b>',
      'image/svg+xml': '<g href="">',
    },
  });
  assert.deepEqual(bounded({ output_type: 'stream', name: 'stdout', text: ['abc', 'def'] }, 4), {
    output_type: 'stream',
    name: 'stdout',
    text: 'abc\n… 2 characters left out …\nf',
  });
  assert.deepEqual(bounded({ output_type: 'error', ename: 'E', evalue: 'v', traceback: ['ab', 'cd'] }, 4), {
    output_type: 'error',
    ename: 'E',
    evalue: 'v',
    traceback: ['ab\n\n… 1 characters left out …\nd'],
  });
});

test('a chart that is too large is sent without its template and the items of its arrays', () => {
  const figure = { data: [{ x: Array(60).fill(1) }], layout: { template: 'x'.repeat(100), title: 'Rain' } };
  const data = bounded({ output_type: 'display_data', data: { 'application/vnd.plotly.v1+json': figure } }, 99).data;
  assert.deepEqual(data['application/vnd.plotly.v1+json'], {
    data: [{ x: [1, 1, 1, 1, 1, '… 60 items in all'] }],
    layout: { title: 'Rain' },
  });
});

test('of a script, what it draws of Altair is kept', () => {
  const script = '<script>(function(spec) { load("vega-lite"); })({"mark": "bar"}, {"mode": "vega-lite"});</script>';
  const html = `<script>vega-lite</script><div></div>${script}<script>other()})({</script>`;
  const output = { output_type: 'display_data', data: { 'text/html': html } };
  assert.equal(bounded(output, 999).data['text/html'], `<div></div><script>${script.slice(script.indexOf('})({'))}`);
});

test('a cell is handed over without what is too large', () => {
  const cell = { source: 'x'.repeat(100), metadata: { tags: ['a'] }, outputs: ['x'.repeat(20)], execution_count: 1 };
  assert.deepEqual(portable(cell, 50), cell);
  const { outputs, ...rest } = cell;
  assert.deepEqual(portable({ ...cell, attachments: { a: 1 } }, 20), { ...rest, attachments: { a: 1 }, left_out: ['outputs'] });
  assert.deepEqual(portable({ ...cell, attachments: { a: 1 } }, 0), { ...rest, left_out: ['outputs', 'attachments'] });
});

test('nothing hides in what the user decides on', () => {
  assert.equal(visible('ls \u202etxt\u200b\u001b[2K\n\tok'), 'ls ⟨U+202E⟩txt⟨U+200B⟩⟨U+001B⟩[2K\n\tok');
  assert.equal(visible('\u2028\u3164\ufe00\u{e0041}é大😀'), '⟨U+2028⟩⟨U+3164⟩⟨U+FE00⟩⟨U+E0041⟩é大😀');
  assert.equal(oneLine('  one\n two   three ', 100), 'one two three');
  assert.equal(oneLine('abcdef', 4), 'abc…');
});
