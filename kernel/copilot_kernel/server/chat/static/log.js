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

  // answer(option, reason, rule) is called with what was chosen: once, or again after a rule was refused.
  ask({ call_id: id, entry, html, about, options, suggestion }, answer) {
    const slot = this.#slot(`question ${id}`, entry, QUESTION, 'question');
    const body = element('div', 'body');
    write(body, html);
    const row = element('div', 'answers');
    const settle = (...chosen) => {
      for (const each of slot.querySelectorAll('.answers button, form button')) each.disabled = true;
      slot.dataset.answered = '';
      answer(...chosen);
    };
    const [yes, no, never] = ['allow_once', 'reject_once', 'reject_always'].map((kind) => options.find((each) => each.kind === kind));
    const inside = (option) => yes && suggestion && option.kind === 'allow_always';
    const choice = (option) => offered(option, about, () => settle(option));
    row.append(...options.filter((each) => !inside(each)).map(choice));
    slot.replaceChildren(body, row);
    if (no ?? never) slot.append(reasoned(row, about, (reason) => settle(no ?? never, reason)));
    if (yes && suggestion) {
      const always = options.filter(inside).map((option) => explained(choice(option), option.meaning));
      slot.append(ruled(row, about, suggestion, always, (rule) => answer(yes, '', rule)));
    }
  }

  // A rule that was offered as the answer is not taken: the question stays.
  refused(id, words) {
    const complaint = this.#slots.get(`question ${id}`)?.querySelector('.complaint');
    if (complaint) complaint.textContent = `⚠ ${words}`;
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

// One of the agent's options; of one that it remembers, what that means.
function offered({ kind, name, id, remark, meaning }, about, act) {
  const button = action(kind, remark ? `${name || id} (${remark})` : name || id, act, meaning || about);
  button.title = meaning;
  return button;
}

function explained(button, meaning) {
  const row = element('p', 'answers');
  row.append(button, element('span', 'hint', meaning));
  return row;
}

// "Deny and say why…" opens a field; what is written there is the agent's next message.
function reasoned(row, about, tell) {
  const field = element('textarea');
  field.rows = 3;
  field.setAttribute('aria-label', 'Feedback for the agent');
  field.placeholder = 'Why not, or what instead? The agent gets this as your next message.';
  return written(row, action('', 'Deny and say why…', () => {}, about), field, element('button', 'reject_once', 'Send why'), tell);
}

// "Always allow ▾" opens a rule of ours that can be changed first; below it what the agent itself would remember.
function ruled(row, about, suggestion, always, save) {
  const field = element('input');
  field.value = suggestion; field.spellcheck = false;
  field.setAttribute('aria-label', 'Rule');
  const opener = action('', 'Always allow ▾', () => {}, `by a rule that you can change first: ${suggestion}`);
  const form = written(row, opener, field, action('allow_once', 'Save & allow', null, about), save);
  const complaint = element('p', 'complaint');
  complaint.setAttribute('role', 'alert');
  field.after(element('p', 'hint', 'You will not be asked about calls that it covers, in this conversation.'), complaint);
  form.append(...always);
  return form;
}

// A form in the place of the answers, and the button that opens it; `act` gets what was written, if anything was.
function written(row, opener, field, send, act) {
  const form = element('form', 'written');
  const buttons = element('div', 'answers');
  const show = (open) => { form.hidden = !open; row.hidden = open; (open ? field : opener).focus(); };
  field.maxLength = 10000; send.type = 'submit'; form.hidden = true;
  opener.onclick = () => show(true);
  buttons.append(send, action('', 'Back', () => show(false)));
  form.append(field, buttons);
  form.onsubmit = (event) => {
    event.preventDefault();
    if (field.value.trim()) act(field.value.trim()); else field.focus();
  };
  row.append(opener);
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
