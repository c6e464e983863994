// The conversation on the page: pieces of safe HTML from the server, each in its place, and what is asked.

import { Guard, complain, drawAnswers, numberCards } from './answers.js';
import { equip } from './code.js';
import { element, write } from './elements.js';

const PICTURES = /^image\/(png|jpeg|gif|webp|svg\+xml)$/;
const NAMES = { prompt: 'You', message: 'Agent', tool: 'Tool', plan: 'Plan', thought: 'Thought', question: 'Question', footer: 'Summary' };
const LAST = 1e9; // after everything else of its entry
const QUESTION = 1e6;

export class Log {
  #root; #slots = new Map(); #newest = -1; #extra = 0;
  guard = new Guard();

  constructor(root) { this.#root = root; }

  get empty() { return this.#slots.size === 0; }

  clear() {
    this.#slots.clear(); this.#newest = -1; this.#extra = 0;
    this.guard.clear();
    this.#root.replaceChildren();
  }

  // A piece of an entry; it takes the place of what stood there.
  draw({ entry, piece, kind, html, status }) {
    const slot = this.#slot(`${entry}.${piece}`, entry, piece, kind);
    if (status) slot.dataset.status = status;
    fill(slot, html);
  }

  // Something between the entries: a command's answer, an error, a line. The HTML is the server's.
  add(kind, html, text = '') {
    const slot = this.#slot(`extra ${this.#extra += 1}`, this.#newest, LAST + this.#extra, kind);
    if (html) fill(slot, html); else slot.textContent = text;
    return slot;
  }

  files(entry, files) {
    const slot = this.#slot(`files ${entry}`, entry, QUESTION - 2, 'files');
    slot.replaceChildren(...files.map(shown));
  }

  cards(entry, cards) {
    const slot = this.#slot(`cards ${entry}`, entry, QUESTION - 1, 'cards');
    slot.replaceChildren(...cards.map(({ content }) => card(content)));
  }

  // A question that is about no entry stands at the end. answer({option, reason, rule}) is called with what was chosen: once, or again after a rule was refused.
  ask(message, answer) {
    const place = message.entry === null ? [this.#newest, LAST + (this.#extra += 1)] : [message.entry, QUESTION];
    const slot = this.#slot(`question ${message.call_id}`, ...place, 'question');
    const settle = (chosen) => {
      if (!chosen.rule) { // which may be refused
        slot.dataset.answered = '';
        for (const each of slot.querySelectorAll('button')) each.disabled = true;
      }
      answer(chosen);
    };
    const body = element('div', 'body');
    write(body, message.html);
    slot.setAttribute('aria-label', `Question: ${message.about}`);
    slot.tabIndex = -1;
    slot.replaceChildren(body, ...drawAnswers(message.answers, settle, () => this.guard.holdAll()));
    this.guard.add(slot, message.answers);
    numberCards(this.#questions);
  }

  // A rule that was offered as the answer is not taken: the question stays.
  refused(id, words) {
    const slot = this.#slots.get(`question ${id}`);
    if (slot) complain(slot, words);
  }

  answered(id) {
    const key = `question ${id}`;
    const slot = this.#slots.get(key);
    this.#slots.delete(key);
    if (!slot) return;
    this.guard.remove(slot);
    numberCards(this.#questions);
  }

  get questions() { return this.#questions.length; }
  get #questions() { return [...this.#root.querySelectorAll('.question')]; }

  #slot(key, entry, piece, kind) {
    const known = this.#slots.get(key);
    if (known) return known;
    const slot = element('article', kind);
    if (NAMES[kind]) slot.setAttribute('aria-label', NAMES[kind]);
    slot.order = [entry, piece];
    this.#newest = Math.max(this.#newest, entry);
    let after = this.#root.lastElementChild;
    while (after && later(after.order, slot.order)) after = after.previousElementSibling;
    if (after) after.after(slot); else this.#root.prepend(slot);
    this.#slots.set(key, slot);
    return slot;
  }
}

function later(one, other) { return one[0] > other[0] || (one[0] === other[0] && one[1] > other[1]); }

// What the reader has opened stays open, and where he scrolled to, he stays.
function fill(slot, html) {
  const open = [...slot.querySelectorAll('details')].map((each) => each.open);
  write(slot, html);
  equip(slot);
  slot.querySelectorAll('details').forEach((each, index) => { if (open[index]) each.open = true; });
}

function shown({ url, mime, name }) {
  if (PICTURES.test(mime)) {
    const image = element('img');
    image.src = url; image.alt = name;
    return image;
  }
  if (mime.startsWith('audio/')) {
    const sound = element('audio');
    sound.controls = true; sound.src = url; sound.setAttribute('aria-label', name);
    return sound;
  }
  const link = element('a', 'file', name);
  link.href = url; link.download = name;
  return link;
}

// The texts of an adaptive card; the rest of it as it came.
function card(content) {
  const box = element('div', 'card');
  const texts = (part) => (Array.isArray(part) ? part.flatMap(texts)
    : part && typeof part === 'object' ? [...(typeof part.text === 'string' ? [part.text] : []),
      ...['body', 'items', 'columns', 'facts'].flatMap((name) => texts(part[name] ?? []))] : []);
  box.append(...texts(content).slice(0, 50).map((text) => element('p', '', text)));
  const all = element('details');
  all.append(element('summary', '', 'The whole card'), element('pre', '', JSON.stringify(content, null, 2)));
  box.append(all);
  return box;
}
