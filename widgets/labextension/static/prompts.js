// @ts-check
// The texts of prompt cells, in Python notebooks and in Copilot notebooks.

const MAGIC = /^%%copilot\b/;
const USES = /%copilot\b/;
export const FIX = '%copilot fix';

/** A prompt about a cell, to be completed. @param {string} cell @param {string} language Of the notebook's kernel. */
export function promptAbout(cell, language) {
  const prompt = `@cell:${cell} `;
  return language === 'copilot' ? prompt : `%%copilot\n${prompt}`;
}

/**
 * What repairs a failed cell: `%copilot fix` is about the cell that ran last.
 * @param {string} cell @param {boolean} ranLast
 */
export function fixOf(cell, ranLast) {
  return ranLast ? FIX : `%%copilot\nFix the error in @cell:${cell}`;
}

/** What undoes a turn. @param {string} turn @param {string} language */
export function undoOf(turn, language) {
  return language === 'copilot' ? `%undo ${turn}` : `%copilot %undo ${turn}`;
}

/** What changes to the demo agent. @param {string} language */
export function demoOf(language) {
  return language === 'copilot' ? '%agent demo' : '%copilot %agent demo';
}

/** What forgets a refusal. @param {string} id @param {string} language */
export function revokeOf(id, language) {
  return `${language === 'copilot' ? '' : '%copilot '}%permissions revoke ${id}`;
}

/** Whether a cell of Python uses the agent. @param {string} source */
export function isOfCopilot(source) {
  return USES.test(source);
}

/** Whether a cell holds a prompt. @param {string} source @param {string} language */
export function isPrompt(source, language) {
  if (language !== 'copilot') return MAGIC.test(source);
  return !source.startsWith('%') || source.startsWith('%attach');
}

/**
 * Whether a notebook may have had turns.
 * @param {import('@jupyterlab/notebook').Notebook} content @param {string} language
 */
export function hasPrompts({ widgets }, language) {
  return language === 'copilot' || widgets.some(({ model }) => USES.test(model.sharedModel.getSource()));
}

/**
 * Where a line goes that attaches a file, and what it says: above the prompt, below `%%copilot` and other such lines.
 * @param {string} source @param {string} name
 */
export function attachment(source, name) {
  const lines = source.split('\n');
  let count = MAGIC.test(source) ? 1 : 0;
  while (lines[count]?.startsWith('%attach')) count += 1;
  const quoted = /^[\w.-]+$/.test(name) ? name : `'${name}'`;
  const line = `%attach ${quoted}\n`;
  const at = lines.slice(0, count).join('\n').length;
  if (count === 0) return { at: 0, text: line };
  return count < lines.length ? { at: at + 1, text: line } : { at, text: `\n${line}` };
}

/**
 * A name for a new file that no other file has, without characters that shells and systems treat specially.
 * @param {string} given @param {Set<string>} taken
 */
export function freeName(given, taken) {
  const safe = given.normalize('NFC').replace(/[^\p{L}\p{N}._ -]/gu, '_').replace(/^[. -]+|[. ]+$/g, '') || 'file';
  const dot = safe.lastIndexOf('.');
  const [stem, suffix] = dot > 0 ? [safe.slice(0, dot), safe.slice(dot)] : [safe, ''];
  const short = stem.slice(0, 80);
  let name = short + suffix;
  for (let number = 2; taken.has(name); number += 1) name = `${short}-${number}${suffix}`;
  return name;
}
