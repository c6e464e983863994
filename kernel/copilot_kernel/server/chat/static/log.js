// The conversation on the page: pieces of safe HTML from the server, each in its place, and what is asked.

const PICTURES = /^image\/(png|jpeg|gif|webp|svg\+xml)$/;
const NAMES = { prompt: 'You', message: 'Agent', tool: 'Tool', plan: 'Plan', thought: 'Thought', question: 'Question', footer: 'Summary' };
const LAST = 1e9; // after everything else of its entry
const QUESTION = 1e6;

export function element(tag, className = '', text = '') {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

export class Log {
  #root; #slots = new Map(); #newest = -1; #extra = 0;

  constructor(root) { this.#root = root; }

  get empty() { return this.#slots.size === 0; }

  clear() {
    this.#slots.clear(); this.#newest = -1; this.#extra = 0;
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

  // answer(option, reason) is called once, with what was chosen.
  ask({ call_id: id, entry, html, about, options }, answer) {
    const slot = this.#slot(`question ${id}`, entry, QUESTION, 'question');
    const body = element('div', 'body');
    write(body, html);
    const row = element('div', 'answers');
    const settle = (...chosen) => {
      for (const each of slot.querySelectorAll('.answers button, form button')) each.disabled = true;
      slot.dataset.answered = '';
      answer(...chosen);
    };
    for (const option of options) row.append(action(option.kind, option.name || option.id, () => settle(option), about));
    slot.replaceChildren(body, row);
    const no = ['reject_once', 'reject_always'].map((kind) => options.find((each) => each.kind === kind)).find(Boolean);
    if (no) slot.append(reasoned(row, about, (reason) => settle(no, reason)));
  }

  answered(id) {
    const key = `question ${id}`;
    this.#slots.get(key)?.remove();
    this.#slots.delete(key);
  }

  get questions() { return this.#root.querySelectorAll('.question').length; }

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

// Several questions may be open: each button is named by what it is about, too.
function action(kind, words, act, about = '') {
  const button = element('button', kind, words);
  if (about) button.setAttribute('aria-label', `${words}: ${about}`);
  button.type = 'button';
  button.onclick = act;
  return button;
}

// "Deny and say why…" opens a field; what is written there is the agent's next prompt.
function reasoned(row, about, tell) {
  const form = element('form', 'reason');
  const field = element('textarea');
  field.rows = 3; field.maxLength = 10000;
  field.setAttribute('aria-label', 'Feedback for the agent');
  field.placeholder = 'Why not, or what instead? Sent as your next prompt.';
  const buttons = element('div', 'answers');
  const send = element('button', 'reject_once', 'Send why');
  const show = (open) => { form.hidden = !open; row.hidden = open; (open ? field : row.lastElementChild).focus(); };
  buttons.append(send, action('', 'Back', () => show(false)));
  form.append(field, buttons);
  form.hidden = true;
  form.onsubmit = (event) => {
    event.preventDefault();
    if (field.value.trim()) tell(field.value.trim()); else field.focus();
  };
  row.append(action('', 'Deny and say why…', () => show(true), about));
  return form;
}

function later(one, other) { return one[0] > other[0] || (one[0] === other[0] && one[1] > other[1]); }

// Links to files of the project are for notebooks: this page stands elsewhere.
function write(target, html) {
  target.innerHTML = html;
  for (const link of target.querySelectorAll('a[href]')) {
    if (!/^[a-z]+:/i.test(link.getAttribute('href'))) link.removeAttribute('href');
  }
}

// What the reader has opened stays open, and where he scrolled to, he stays.
function fill(slot, html) {
  const open = [...slot.querySelectorAll('details')].map((each) => each.open);
  write(slot, html);
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
