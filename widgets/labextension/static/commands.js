// @ts-check
// The commands of palette, cell toolbar, context menu and shortcuts.

import { copilotKernel, languageOf, loadExtension } from './kernels.js';
import { button, equip } from './outputs.js';
import { FIX, fixOf, isOfCopilot, promptAbout } from './prompts.js';
import { openSettings } from './settingspage.js';

/**
 * @typedef {import('@jupyterlab/application').JupyterFrontEnd} JupyterFrontEnd
 * @typedef {import('@jupyterlab/notebook').NotebookPanel} NotebookPanel
 * @typedef {import('@jupyterlab/notebook').INotebookTracker} INotebookTracker
 * @typedef {import('@jupyterlab/cells').ICodeCellModel} ICodeCellModel
 */

export const COMMANDS = {
  ask: 'copilot:ask-about-cell',
  fix: 'copilot:fix-error',
  notebook: 'copilot:new-notebook',
  chat: 'copilot:open-chat',
  question: 'copilot:go-to-question',
  settings: 'copilot:settings',
  menu: 'copilot:menu',
};
const CHAT_ID = 'copilot-kernel-chat';
const FIX_BUTTON = 'copilot-fix';

export class Commands {
  #app;
  #tracker;
  #shared;
  #icon;
  #questions;
  /** @type {import('@jupyter/ydoc').ISharedCell | undefined} */
  #followed;

  /**
   * @param {JupyterFrontEnd} app @param {INotebookTracker} tracker @param {import('./plugin.js').Shared} shared
   * @param {import('@jupyterlab/ui-components').LabIcon} icon
   * @param {import('./questions.js').Questions} questions
   */
  constructor(app, tracker, shared, icon, questions) {
    this.#app = app;
    this.#tracker = tracker;
    this.#shared = shared;
    this.#icon = icon;
    this.#questions = questions;
    this.#add();
    tracker.activeCellChanged.connect(() => this.#follow());
    equip(tracker, 'jp-OutputArea-output', panel => element => this.#offerFix(panel, element));
  }

  #add() {
    const { commands } = this.#app;
    commands.addCommand(COMMANDS.ask, {
      label: (/** @type {any} */ args) => (args.toolbar ? '' : 'Ask Copilot about this cell'), // toolbars show the icon alone
      caption: 'Ask Copilot about this cell',
      icon: this.#icon,
      isEnabled: () => this.#language !== '',
      execute: () => this.#ask(),
    });
    commands.addCommand(COMMANDS.fix, {
      label: 'Fix this error with Copilot',
      caption: 'Fix this error with Copilot',
      isEnabled: () => this.#canFix,
      isVisible: () => this.#canFix,
      execute: () => this.#fix(),
    });
    commands.addCommand(COMMANDS.notebook, {
      label: 'New Copilot notebook',
      isEnabled: () => copilotKernel(this.#app) !== undefined,
      execute: () => commands.execute('notebook:create-new', { kernelName: copilotKernel(this.#app) }),
    });
    commands.addCommand(COMMANDS.chat, { label: 'Open Copilot chat', icon: this.#icon, execute: () => this.#openChat() });
    commands.addCommand(COMMANDS.question, {
      label: 'Go to the open question',
      isEnabled: () => this.#questions.hasAny(this.#tracker.currentWidget),
      execute: () => this.#questions.showNewest(this.#tracker.currentWidget),
    });
    commands.addCommand(COMMANDS.settings, {
      label: 'Copilot settings…',
      icon: this.#icon,
      execute: () => openSettings(this.#app, this.#shared, this.#icon),
    });
  }

  /** The outputs of the active cell decide whether there is an error to fix. */
  #follow() {
    this.#followed?.changed.disconnect(this.#notify);
    this.#followed = this.#tracker.activeCell?.model.sharedModel;
    this.#followed?.changed.connect(this.#notify);
    this.#notify();
  }

  #notify = () => {
    this.#app.commands.notifyCommandChanged(COMMANDS.fix);
    this.#app.commands.notifyCommandChanged(COMMANDS.ask);
  };

  get #language() {
    const panel = this.#tracker.currentWidget;
    const language = panel ? languageOf(this.#app, panel) : '';
    return language === 'python' || language === 'copilot' ? language : '';
  }

  get #canFix() {
    const model = this.#tracker.activeCell?.model;
    return this.#language === 'python' && model?.type === 'code' && hasError(/** @type {ICodeCellModel} */ (model));
  }

  /** A prompt below the active cell that names it; the user completes and runs it. */
  async #ask() {
    const panel = this.#tracker.currentWidget;
    const cell = this.#tracker.activeCell;
    if (!panel || !cell) return;
    const language = this.#language;
    if (language === 'python') void this.#load(panel);
    insertBelow(panel, promptAbout(cell.model.id, language));
    panel.content.mode = 'edit';
    await panel.content.activeCell?.ready;
    const editor = panel.content.activeCell?.editor;
    editor?.focus();
    editor?.setCursorPosition({ line: editor.lineCount - 1, column: editor.getLine(editor.lineCount - 1)?.length ?? 0 });
  }

  /** A button beneath the traceback of a cell of Python. @param {NotebookPanel} panel @param {Element} element */
  #offerFix(panel, element) {
    const { content } = panel;
    const child = element.parentElement;
    const cell = content.widgets.find(({ node }) => node.contains(element));
    const { model, outputArea } = /** @type {import('@jupyterlab/cells').CodeCell} */ (cell);
    const number = outputArea.widgets.findIndex(({ node }) => node === child);
    const isOurs = isOfCopilot(model.sharedModel.getSource()) || languageOf(this.#app, panel) !== 'python';
    if (!child || isOurs || model.outputs.get(number)?.type !== 'error' || child.querySelector(`.${FIX_BUTTON}`)) return;
    const fix = button('Fix with Copilot', () => {
      content.activeCellIndex = content.widgets.findIndex(({ node }) => node.contains(element));
      void this.#app.commands.execute(COMMANDS.fix);
    });
    fix.className = FIX_BUTTON;
    child.append(fix);
  }

  async #fix() {
    const panel = this.#tracker.currentWidget;
    const cell = this.#tracker.activeCell;
    if (!panel || !cell || !this.#canFix) return;
    const source = fixOf(cell.model.id, ranLast(panel, cell.model.id));
    const next = panel.content.widgets[panel.content.activeCellIndex + 1];
    if (source === FIX && next?.model.sharedModel.getSource() === FIX) panel.content.activeCellIndex += 1;
    else insertBelow(panel, source);
    // The kernel does both in order, also when it is busy now.
    void this.#load(panel);
    await this.#app.commands.execute('notebook:run-cell');
  }

  /** @param {NotebookPanel} panel */
  async #load(panel) {
    if (await loadExtension(panel)) return;
    const message = 'This kernel cannot load copilot_kernel. Install copilot-kernel in its environment.';
    this.#shared.apputils.Notification.error(message, { autoClose: false });
  }

  /** The chat page of the server, in the side area. */
  async #openChat() {
    const { shell, serviceManager } = this.#app;
    const present = [...shell.widgets('right')].some(({ id }) => id === CHAT_ID);
    if (!present) {
      const url = new URL('copilot/chat', serviceManager.serverSettings.baseUrl).href;
      const answer = await fetch(url, { credentials: 'same-origin' });
      if (!answer.ok) {
        const message = 'The server has no Copilot chat. Install copilot-kernel[server] beside Jupyter and start it again.';
        this.#shared.apputils.Notification.error(message, { autoClose: false });
        return;
      }
      shell.add(this.#chat(url), 'right', { rank: 900 });
    }
    shell.activateById(CHAT_ID);
  }

  /** @param {string} url */
  #chat(url) {
    const frame = document.createElement('iframe');
    frame.className = 'copilot-chat';
    frame.title = 'Copilot chat';
    frame.src = url;
    const widget = new this.#shared.widgets.Widget();
    widget.addClass('copilot-chat-panel');
    widget.node.append(frame);
    widget.id = CHAT_ID;
    widget.title.icon = this.#icon;
    widget.title.caption = 'Copilot chat';
    widget.title.closable = true;
    return widget;
  }
}

/** @param {ICodeCellModel} model */
function hasError({ outputs }) {
  for (let index = 0; index < outputs.length; index += 1) {
    if (outputs.get(index).type === 'error') return true;
  }
  return false;
}

/** Whether no other cell has run since. @param {NotebookPanel} panel @param {string} id */
function ranLast(panel, id) {
  const counts = panel.content.widgets.map(({ model }) => /** @type {ICodeCellModel} */ (model).executionCount ?? 0);
  const cell = panel.content.widgets.findIndex(({ model }) => model.id === id);
  return counts[cell] === Math.max(...counts);
}

/** Insert a code cell below the active one and make it active. @param {NotebookPanel} panel @param {string} source */
export function insertBelow(panel, source) {
  const index = panel.content.activeCellIndex + 1;
  panel.content.model?.sharedModel.insertCell(index, { cell_type: 'code', source, metadata: { trusted: true } });
  panel.content.activeCellIndex = index;
  panel.content.deselectAll();
}
