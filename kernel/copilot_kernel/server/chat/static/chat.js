// The chat page: what the server tells becomes the log, what the reader does becomes actions.

import { answerByKeys } from './answers.js';
import { element } from './elements.js';
import { Log } from './log.js';
import { Wire } from './wire.js';

const $ = (id) => document.getElementById(id);
const base = document.body.dataset.base;
const KEY = `copilot chat ${base}`;
const SUGGESTIONS = `${base.replace(/\/chat$/, '')}/api/chat/suggestions`;
const NEAR = 120; // pixels from the end that still count as the end

const log = new Log($('log'));
const wire = new Wire(`${base.replace(/^/, location.origin.replace(/^http/, 'ws'))}/ws?view=html`, {
  opened() { link('open', 'Connected'); banner(''); open(); },
  told(message) { (HEAR[message.type] ?? nothing)(message); },
  lost,
});

let session = remembered();
let opening = '';
let running = false; // as the server says
let sending = false; // before it says so
let unsent = [];

// -- what the server tells ---------------------------------------------------------------------------------------------

const HEAR = {
  session_created(message) {
    opening = ''; session = message.session_id;
    remember(session);
    log.clear();
    running = message.running; sending = false;
    $('agent').textContent = message.agent ?? '';
    for (const id of ['model', 'mode', 'usage', 'waiting']) $(id).textContent = '';
    $('model').textContent = message.model ?? '';
    passing(running ? ' ' : '');
    for (const text of unsent.splice(0)) send(text);
    settle();
  },
  event(message) { (EVENTS[message.event] ?? nothing)(message); },
  media({ entry, files }) { keepingEnd(() => log.files(entry, files)); },
  cards({ entry, cards }) { keepingEnd(() => log.cards(entry, cards)); },
  message({ html, content }) { keepingEnd(() => log.add('command', html, content)); say(content.slice(0, 300)); },
  error({ html, content }) {
    if (opening) return refused(content, html);
    sending = false;
    keepingEnd(() => log.add('error', html, content));
    cry(content);
    settle();
  },
  done({ stop_reason: reason, html }) {
    if (html) keepingEnd(() => log.add('footer', html));
    if (reason !== 'error' && reason !== 'command') say(reason === 'cancelled' ? 'Stopped.' : 'The answer is complete.');
  },
};

const EVENTS = {
  entry(message) { keepingEnd(() => log.draw(message)); settle(); },
  history({ messages }) {
    for (const each of messages) log.add(each.role === 'user' ? 'prompt' : 'message', each.html);
    toEnd(); settle();
  },
  tool_approval_request(message) {
    keepingEnd(() => log.ask(message, (chosen) => answer(message, chosen)));
    cry(`${$('agent').textContent || 'The agent'} asks: ${message.headline}`);
    settle();
  },
  rule_refused({ call_id: id, content }) { keepingEnd(() => log.refused(id, content)); },
  approval_resolved({ call_id: id, reason }) {
    const within = document.activeElement?.closest('.question');
    log.answered(id);
    if (within && !within.isConnected) onward();
    say(reason ?? '');
    settle();
  },
  notice({ severity, title, description }) {
    keepingEnd(() => log.add(`line ${severity}`, '', [title, description].filter(Boolean).join(' · ')));
    say(title);
  },
  status({ content }) { passing(content || (running ? ' ' : '')); },
  mode({ mode, model }) { $('mode').textContent = short(mode); $('model').textContent = short(model); },
  usage({ used, size }) {
    $('usage').textContent = size > 0 ? `context ${Math.round((100 * used) / size)} %` : used ? `context ${used}` : '';
  },
  command({ content }) { keepingEnd(() => log.add('prompt', '', content)); },
  running(message) {
    running = message.running; sending = false;
    passing(running ? ' ' : '');
    settle();
  },
  queued({ waiting }) { $('waiting').textContent = waiting ? `${waiting} waiting` : ''; },
};

function nothing() {}

function answer({ call_id: id, options }, { option: chosen, reason = '', rule = '' }) {
  const option = options[chosen];
  const response = option.kind === 'allow_once' ? 'yes' : 'no';
  act({ action: 'approve_tool', call_id: id, response, option_id: option.id, ...(reason && { reason }), ...(rule && { rule }) });
  if (!rule) onward();
}

// The button that had the focus is gone: to the next question, whose buttons follow, else to the field.
function onward() { (document.querySelector('.question:not([data-answered])') ?? $('text')).focus(); }

// -- the session ---------------------------------------------------------------------------------------------------------

function open() {
  opening = session ? 'resume' : 'new';
  act(session ? { action: 'resume_session', session_id: session } : { action: 'new_session' });
}

function refused(content, html) {
  const was = opening;
  opening = '';
  if (was !== 'resume') {
    passing('');
    const slot = log.add('error', html, content);
    const again = element('button', '', 'Try again');
    again.onclick = () => { slot.remove(); open(); };
    slot.append(again);
    cry(content);
    return settle();
  }
  forget();
  open();
  return undefined;
}

function begin(id = '') {
  forget();
  session = id;
  log.clear(); passing('');
  open();
  $('text').focus();
}

function remembered() { return sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? ''; }
function remember(id) { sessionStorage.setItem(KEY, id); localStorage.setItem(KEY, id); }
function forget() { session = ''; sessionStorage.removeItem(KEY); localStorage.removeItem(KEY); }

async function lost(everOpened, reason, forLong) {
  opening = '';
  link('lost', 'Not connected');
  banner(forLong ? 'Server stopped. Reload the page when it runs again.'
    : `${reason || 'The connection is lost'}. Trying again …`);
  if (!everOpened && await signedOut()) banner('You are signed out. ', 'Reload this page to sign in.');
  settle();
}

async function signedOut() {
  try { return [401, 403].includes((await request(SUGGESTIONS)).status); } catch { return false; }
}

// JupyterHub takes the cookie of a `fetch` only together with the XSRF token, even for a GET.
function request(url) {
  const token = document.cookie.match(/(?:^|;\s*)_xsrf=([^;]*)/)?.[1];
  return fetch(url, { cache: 'no-store', headers: token ? { 'X-XSRFToken': token } : {} });
}

function act(action) { return wire.send(action); }

function send(text) {
  if (opening || !session || !act({ action: 'send', text })) {
    unsent.push(text);
    log.add('prompt', '', text); // until it is sent
    if ($('passing').hidden) passing(' '); // else it says what it waits for
    return settle();
  }
  sending = true;
  passing(' ');
  settle();
}

// -- the page --------------------------------------------------------------------------------------------------------------

const field = $('text');

function settle() {
  const idle = log.empty && !running && !sending;
  $('welcome').hidden = !idle || !session;
  $('stop').hidden = !running;
  $('send').disabled = !field.value.trim();
  document.body.classList.toggle('asked', log.questions > 0);
  document.title = `${log.questions ? '? ' : running ? '… ' : ''}Copilot chat`;
}

function passing(words) {
  $('passing').hidden = !words;
  $('passing').querySelector('span').textContent = words.trim();
}

function banner(words, way = '') {
  const place = $('banner');
  place.hidden = !words;
  place.textContent = words;
  if (way) {
    const link = element('a', '', way);
    link.href = location.pathname;
    place.append(link);
  }
}

function link(state, words) { $('link').dataset.state = state; $('link-words').textContent = words; }
function short(name) { return (name ?? '').split(/[#/]/).pop(); }
function say(words) { $('said').textContent = words; }
function cry(words) { $('alert').textContent = words; }

const main = document.querySelector('main');
let following = true; // the reader is at the end, and wants to stay there
function atEnd() { return main.scrollHeight - main.scrollTop - main.clientHeight < NEAR; }
function toEnd() { following = true; main.scrollTop = main.scrollHeight; $('down').hidden = true; }

function keepingEnd(change) {
  change();
  if (following) toEnd(); else $('down').hidden = false;
  log.guard.look();
}

function grow() {
  field.style.height = 'auto';
  field.style.height = `${Math.min(field.scrollHeight, innerHeight * 0.4)}px`;
}

$('composer').onsubmit = (event) => {
  event.preventDefault();
  const text = field.value;
  if (!text.trim()) return;
  field.value = '';
  grow();
  send(text);
  toEnd();
};
field.oninput = () => { grow(); settle(); };
field.onkeydown = (event) => {
  if (event.isComposing) return;
  if (event.key === 'Enter' && !event.shiftKey) { event.preventDefault(); $('composer').requestSubmit(); }
  if (event.key === 'Escape' && running) act({ action: 'stop' });
};
$('stop').onclick = () => { act({ action: 'stop' }); field.focus(); };
$('new').onclick = () => begin();
$('down').onclick = () => { toEnd(); field.focus(); };
main.onscroll = () => {
  following = atEnd();
  if (following) $('down').hidden = true;
  log.guard.scrolled();
};
// Pictures that come, and windows that change, must not take the end away.
const resized = new ResizeObserver(() => { if (following) toEnd(); log.guard.look(); });
for (const each of [$('log'), main]) resized.observe(each);

$('recent').onclick = async () => {
  const list = $('sessions').querySelector('ul');
  list.replaceChildren(element('li', 'none', 'Looking …'));
  $('sessions').showModal();
  let found = [];
  try { found = await (await request(`${base}/sessions`)).json(); } catch { /* told below */ }
  const items = (Array.isArray(found) ? found : []).map(({ id, title, updated_at: when, open: isOpen }) => {
    const button = element('button', id === session ? 'here' : '');
    const state = id === session ? 'this one' : isOpen ? 'open' : when.slice(0, 16).replace('T', ' ');
    button.append(element('b', '', title || 'Without a title'), element('time', '', state));
    button.onclick = () => { $('sessions').close(); begin(id); };
    const item = element('li');
    item.append(button);
    return item;
  });
  list.replaceChildren(...(items.length ? items : [element('li', 'none', 'The agent lists none.')]));
};
$('sessions-close').onclick = () => $('sessions').close();
$('sessions').onclick = (event) => { if (event.target === $('sessions')) $('sessions').close(); };

async function starters() {
  let found = [];
  try { found = await (await request(SUGGESTIONS)).json(); } catch { return; }
  $('starters').replaceChildren(...found.map((text) => {
    const button = element('button', '', text);
    button.type = 'button';
    button.onclick = () => { send(text); field.focus(); };
    return button;
  }));
}

if (location.search) history.replaceState(null, '', location.pathname); // the token is in a cookie now
document.documentElement.dataset.ready = '';
answerByKeys();
starters();
wire.connect();
field.focus();
