// @ts-check
// Settings → Copilot: the user's `copilot_kernel.json`, which the server extension reads and writes.

import { Guard, unlessHeld } from '../../../kernel/copilot_kernel/server/chat/static/answers.js';

/**
 * @typedef {{value: string, text: string, about: string}} Choice
 * @typedef {object} Described A setting, as `server/settings_page.py` describes it.
 * @property {string} name
 * @property {string} title
 * @property {string} topic
 * @property {string} help
 * @property {'choice' | 'mode' | 'switch' | 'number' | 'text' | 'list' | 'json'} kind
 * @property {Choice[]} choices
 * @property {any} value What is in force.
 * @property {any} own What the user's file says; null if nothing.
 * @property {string} fixed Why it cannot be set here; empty if it can.
 * @typedef {import('../../../kernel/copilot_kernel/server/chat/static/answers.js').Times & {path: string, error: string, note: string, settings: Described[]}} Page
 * @typedef {{status: number, body: any}} Answer `status` is 0 if there is none.
 */

const ID = 'copilot-kernel-settings';
const CONFIRM = 428; // the server's answer to a change that lets the agent do more
const NO_SERVER = 'The server has no Copilot settings. Install copilot-kernel[server] beside Jupyter and start it again.';

/**
 * Open the page, or bring it to the front.
 * @param {import('@jupyterlab/application').JupyterFrontEnd} app @param {import('./plugin.js').Shared} shared
 * @param {import('@jupyterlab/ui-components').LabIcon} icon
 */
export function openSettings(app, { widgets, apputils }, icon) {
  const area = app.name === 'Jupyter Notebook' ? 'right' : 'main'; // its main area holds one document
  if (![...app.shell.widgets(area)].some(({ id }) => id === ID)) {
    const content = new widgets.Widget();
    content.addClass('copilot-settings');
    new SettingsPage(content.node, new Server(app.serviceManager.serverSettings));
    const widget = new apputils.MainAreaWidget({ content });
    widget.id = ID;
    widget.title.label = 'Copilot settings';
    widget.title.caption = 'Copilot settings';
    widget.title.icon = icon;
    widget.title.closable = true;
    app.shell.add(widget, area);
  }
  app.shell.activateById(ID);
}

/** The endpoint: `GET` describes all settings, `POST` changes one. */
export class Server {
  #settings;

  /** @param {import('@jupyterlab/services').ServerConnection.ISettings} settings */
  constructor(settings) {
    this.#settings = settings;
  }

  /** @param {string} path @param {Record<string, unknown>} [body] @returns {Promise<Answer>} */
  async request(path, body) {
    const { baseUrl, token, fetch } = this.#settings;
    const headers = new Headers({ 'Content-Type': 'application/json', 'X-XSRFToken': cookie('_xsrf') });
    if (token) headers.set('Authorization', `token ${token}`);
    try {
      const url = new URL(`copilot/${path}`, baseUrl).href;
      const answer = await fetch(url, {
        credentials: 'same-origin', headers, method: body ? 'POST' : 'GET', body: body && JSON.stringify(body),
      });
      if (answer.status === 404) return { status: 404, body: { error: { message: NO_SERVER } } };
      return { status: answer.status, body: await answer.json() };
    } catch {
      return { status: 0, body: { error: { message: 'The server does not answer. Try again.' } } };
    }
  }
}

/** The settings by topic; the last one is folded. */
class SettingsPage {
  #node;
  #server;
  #guard = new Guard();
  #page = /** @type {Page} */ ({}); // until it has loaded

  /** @param {HTMLElement} node @param {Server} server */
  constructor(node, server) {
    this.#node = node;
    this.#server = server;
    node.tabIndex = -1;
    node.addEventListener('scroll', () => this.#guard.scrolled());
    void this.#load();
  }

  async #load() {
    const { status, body } = await this.#server.request('settings');
    this.#node.replaceChildren(made('h1', 'Copilot settings'));
    if (status !== 200) return this.#node.append(alert(body.error.message));
    const { path, error, note, settings } = this.#page = /** @type {Page} */ (body);
    this.#node.append(made('p', note), made('p', `Saved in ${path}.`, 'copilot-settings-path'));
    if (error) this.#node.append(alert(error));
    for (const topic of new Set(settings.map(setting => setting.topic))) {
      const section = topic ? made('section', '') : document.createElement('details');
      section.append(topic ? made('h2', topic) : made('summary', 'More settings'));
      section.append(...settings.filter(setting => setting.topic === topic).map(setting => this.#row(setting, Boolean(error))));
      this.#node.append(section);
    }
    return undefined;
  }

  /** @param {Described} setting @param {boolean} isUnreadable */
  #row(setting, isUnreadable) {
    const row = made('div', '', 'copilot-setting');
    const label = document.createElement('label');
    label.textContent = setting.title;
    const field = control(setting);
    field.id = `copilot-setting-${setting.name}`;
    label.htmlFor = field.id;
    const about = setting.choices.find(({ value }) => value === (setting.own ?? setting.value))?.about;
    const help = made('p', about || setting.help);
    help.id = `${field.id}-help`;
    field.setAttribute('aria-describedby', help.id);
    const message = made('p', setting.fixed, 'copilot-setting-message');
    message.setAttribute('role', 'status');
    const fixed = Boolean(setting.fixed) || isUnreadable;
    field.toggleAttribute('disabled', fixed);
    row.classList.toggle('copilot-setting-fixed', fixed);
    const reset = button('Reset', () => void this.#save(row, setting, undefined));
    reset.setAttribute('aria-label', `Reset ${setting.title}`);
    reset.hidden = fixed || setting.own === null;
    field.addEventListener('change', () => void this.#save(row, setting, valueOf(setting, field)));
    const line = made('div', '', 'copilot-setting-line');
    line.append(field, reset);
    row.append(label, line, help, message);
    return row;
  }

  /**
   * Without a value, the setting is reset. What lets the agent do more needs a second click.
   * @param {HTMLElement} row @param {Described} setting @param {unknown} value @param {boolean} [confirmed]
   */
  async #save(row, setting, value, confirmed = false) {
    const { status, body } = await this.#server.request(`settings/${setting.name}`, { value, seen: setting.own, confirmed });
    if (!row.isConnected) return;
    if (status === 200) {
      const next = this.#row(body, false);
      const focused = row.contains(document.activeElement);
      row.replaceWith(next);
      say(next, body.fixed || `Saved. ${body.applies}`);
      if (focused) /** @type {HTMLElement} */ (next.querySelector('input, select, textarea'))?.focus();
    } else if (status === CONFIRM) this.#confirm(row, setting, value, body.error.message);
    else say(row, body.error.message, true);
  }

  /** @param {HTMLElement} row @param {Described} setting @param {unknown} value @param {string} words */
  #confirm(row, setting, value, words) {
    row.querySelector('.copilot-setting-question')?.remove();
    const card = made('div', '', 'copilot-setting-question');
    card.setAttribute('role', 'group');
    card.setAttribute('aria-label', words);
    const keep = button('Keep it as it was', () => {
      this.#guard.remove(card);
      row.replaceWith(this.#row(setting, false));
    });
    const change = button('Change it');
    unlessHeld(change, () => {
      this.#guard.remove(card);
      void this.#save(row, setting, value, true);
    });
    keep.classList.add('jp-mod-accept');
    const buttons = made('div', '', 'copilot-answers');
    buttons.append(keep, change);
    card.append(made('p', words), buttons);
    row.append(card);
    this.#guard.add(card, this.#page);
    keep.focus();
  }
}

/** @param {Described} setting @returns {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} */
function control({ kind, value, own, choices }) {
  const shown = own ?? value;
  if (choices.length) {
    const select = document.createElement('select');
    for (const choice of choices) select.append(new Option(choice.text, choice.value));
    select.value = typeof shown === 'boolean' ? (shown ? 'on' : 'off') : String(shown);
    return select;
  }
  const field = document.createElement(kind === 'list' || kind === 'json' ? 'textarea' : 'input');
  field.spellcheck = false;
  if (field instanceof HTMLInputElement) field.type = kind === 'number' ? 'number' : 'text';
  else field.rows = 3;
  if (field instanceof HTMLInputElement && kind === 'number') field.step = 'any';
  if (kind === 'list') field.value = (shown ?? []).join('\n');
  else field.value = kind === 'json' ? JSON.stringify(shown, null, 2) : String(shown ?? '');
  return field;
}

/** @param {Described} setting @param {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} field */
function valueOf({ kind }, field) {
  if (kind === 'list') return field.value.split('\n').map(line => line.trim()).filter(Boolean);
  if (kind === 'number') return Number(field.value);
  return kind === 'switch' ? field.value === 'on' : field.value;
}

/** @param {HTMLElement} row @param {string} words @param {boolean} [isError] */
function say(row, words, isError = false) {
  const place = row.querySelector('.copilot-setting-message');
  if (!place) return;
  place.classList.toggle('copilot-setting-error', isError);
  place.textContent = isError ? `⚠ ${words}` : words;
}

/** @param {string} words */
function alert(words) {
  const made_ = made('p', `⚠ ${words}`, 'copilot-setting-error');
  made_.setAttribute('role', 'alert');
  return made_;
}

/** @param {string} words @param {() => void} [act] */
function button(words, act) {
  const element = document.createElement('button');
  element.type = 'button';
  element.className = 'jp-mod-styled';
  element.textContent = words;
  element.onclick = act ?? null;
  return element;
}

/** @param {string} tag @param {string} text @param {string} [className] */
function made(tag, text, className = '') {
  const element = document.createElement(tag);
  element.textContent = text;
  element.className = className;
  return element;
}

/** @param {string} name */
function cookie(name) {
  return new RegExp(`(?:^|; )${name}=([^;]*)`).exec(document.cookie)?.[1] ?? '';
}
