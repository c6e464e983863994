// @ts-check
// Texts without a page: what differs, what is left out, what hides.

const MAX_IMAGE = 5_000_000;
const MAX_ITEMS = 50; // of an array in a value that is too large
const SHOWN_ITEMS = 5;
const IMAGES = ['image/png', 'image/jpeg'];
// What nobody reads of HTML and SVG, and what would leave no room for the rest.
const UNREAD = /<(style|script)\b[^]*?<\/\1\s*>|data:[^"'\s>]{99,}/gi;
// Characters that change how others are shown, or are not shown at all.
const HIDING = /[^\P{C}\t\n]|[\p{Zl}\p{Zp}\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufe00-\ufe0e\u{e0100}-\u{e01ef}]/gu;

/**
 * What to replace in `before` so that it becomes `after`. Never splits a surrogate pair: the document would replace its
 * halves.
 * @param {string} before @param {string} after
 * @returns {{start: number, end: number, text: string}}
 */
export function difference(before, after) {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  if (start > 0 && isHighSurrogate(before, start - 1)) start -= 1;
  let same = 0;
  while (same < shorter - start && before[before.length - 1 - same] === after[after.length - 1 - same]) same += 1;
  if (same > 0 && isLowSurrogate(before, before.length - same)) same -= 1;
  return { start, end: before.length - same, text: after.slice(start, after.length - same) };
}

/** @param {string} text @param {number} index */
function isHighSurrogate(text, index) {
  const unit = text.charCodeAt(index);
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** @param {string} text @param {number} index */
function isLowSurrogate(text, index) {
  const unit = text.charCodeAt(index);
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/**
 * The beginning and the end of a text, with a mark that says how much is missing.
 * @param {string} text @param {number} limit
 */
export function cut(text, limit) {
  if (text.length <= limit) return text;
  let end = limit - Math.floor(limit / 4);
  let rest = text.length - limit + end;
  if (end > 0 && isHighSurrogate(text, end - 1)) end -= 1;
  if (isLowSurrogate(text, rest)) rest += 1;
  return `${text.slice(0, end)}\n… ${rest - end} characters left out …\n${text.slice(rest)}`;
}

/** @param {unknown} value A text in nbformat, which may be a list of lines. */
function joined(value) {
  return Array.isArray(value) ? value.join('') : String(value ?? '');
}

/**
 * An output in nbformat, small enough to send: texts are cut, large images and unknown binary data left out.
 * @param {any} output @param {number} limit Characters of each text.
 * @returns {any}
 */
export function bounded(output, limit) {
  switch (output.output_type) {
    case 'stream':
      return { ...output, text: cut(joined(output.text), limit) };
    case 'error':
      return {
        ...output,
        evalue: cut(joined(output.evalue), limit),
        traceback: [cut((output.traceback ?? []).join('\n'), limit)],
      };
    default:
      return { ...output, metadata: {}, data: boundedData(output.data ?? {}, limit) };
  }
}

/** @param {Record<string, unknown>} data @param {number} limit */
function boundedData(data, limit) {
  /** @type {Record<string, unknown>} */
  const kept = {};
  for (const [mime, value] of Object.entries(data)) {
    const fitting = boundedValue(mime, value, limit);
    if (fitting !== undefined) kept[mime] = fitting;
  }
  return kept;
}

/**
 * An image that is too large, or of a kind that agents do not take, stays as an empty one, so that it can be named.
 * @param {string} mime @param {unknown} value @param {number} limit
 */
function boundedValue(mime, value, limit) {
  if (/html$|xml$/.test(mime)) return cut(joined(value).replace(UNREAD, drawn), limit);
  if (/^text\/|javascript$/.test(mime)) return cut(joined(value), limit);
  if (mime.endsWith('json')) {
    if (JSON.stringify(value).length <= limit) return value;
    const json = JSON.stringify(value, brief);
    return json.length <= limit ? JSON.parse(json) : cut(json, limit);
  }
  if (!mime.startsWith('image/')) return undefined;
  const image = IMAGES.includes(mime) ? joined(value) : '';
  return image.length * 0.75 <= MAX_IMAGE ? image : '';
}

/** Without what is long of a chart: the template of Plotly, the items of arrays. @param {string} key @param {any} value */
function brief(key, value) {
  if (key === 'template') return undefined;
  const isLong = Array.isArray(value) && value.length > MAX_ITEMS;
  return isLong ? [...value.slice(0, SHOWN_ITEMS), `… ${value.length} items in all`] : value;
}

/** Of a script that draws a chart of Altair's, the chart. @param {string} script */
function drawn(script) {
  const at = script.lastIndexOf('})({');
  return at >= 0 && script.includes('vega-lite') ? `<script>${script.slice(at)}` : '';
}

/**
 * A cell without what is too large to be sent.
 * @param {any} cell @param {number} limit Characters of its outputs, and of its attachments.
 */
export function portable(cell, limit) {
  const large = ['outputs', 'attachments'].filter(name => JSON.stringify(cell[name] ?? null).length > limit);
  const rest = Object.entries(cell).filter(([name]) => !large.includes(name));
  return large.length ? { ...Object.fromEntries(rest), left_out: large } : cell;
}

/** A text in which nothing hides: bidirectional, invisible and control characters become visible. @param {string} text */
export function visible(text) {
  return text.replace(HIDING, found => `⟨U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
}

/** One visible line of at most `limit` characters. @param {string} text @param {number} limit */
export function oneLine(text, limit) {
  const line = visible(text.replace(/\s+/g, ' ').trim());
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}

/** The checksum of a text in UTF-8. Pages on http have none of their own. @param {string} text */
export function crc32(text) {
  let checksum = -1;
  for (const byte of new TextEncoder().encode(text)) {
    checksum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) checksum = (checksum >>> 1) ^ (checksum & 1 ? 0xedb88320 : 0);
  }
  return ~checksum >>> 0;
}
