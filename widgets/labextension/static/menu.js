// @ts-check
// The menu of the status item. What is set there, the kernel sets by its commands; the page only names one.

import { COMMANDS, insertBelow } from './commands.js';
import { languageOf } from './kernels.js';

/**
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {import('@lumino/widgets').Menu} Menu
 */

const CHOOSE = 'copilot:choose';
const RUN = 'copilot:run-below';
const REPORT = 'copilot:copy-report';
const CONVERSATION = [
  ['New conversation', '%new'],
  ['Resume an earlier conversation…', '%resume'],
  ['Changes of the agent', '%changes'],
  ['Undo…', '%undo'],
  ['What was allowed', '%permissions'],
];

export class StatusMenu {
  #app;
  #ui;
  #tracker;
  #connections;

  /**
   * @param {import('@jupyterlab/application').JupyterFrontEnd} app @param {import('./plugin.js').Shared} shared
   * @param {import('@jupyterlab/notebook').INotebookTracker} tracker
   * @param {import('./connection.js').Connections} connections @param {() => Promise<void>} copyReport
   */
  constructor(app, shared, tracker, connections, copyReport) {
    this.#app = app;
    this.#ui = shared.ui;
    this.#tracker = tracker;
    this.#connections = connections;
    app.commands.addCommand(CHOOSE, {
      label: args => String(args.label),
      caption: args => String(args.about),
      isToggleable: true,
      isToggled: args => args.current === true,
      execute: args => connections.of(tracker.currentWidget)?.choose(String(args.command)),
    });
    app.commands.addCommand(RUN, {
      label: args => String(args.label),
      isEnabled: () => tracker.currentWidget !== null,
      execute: args => this.#run(String(args.command)),
    });
    app.commands.addCommand(COMMANDS.menu, {
      label: 'Copilot menu',
      caption: 'Model, permissions, conversation, settings',
      isEnabled: () => tracker.currentWidget !== null,
      execute: () => this.open(tracker.currentWidget?.toolbar.node ?? document.body),
    });
    app.commands.addCommand(REPORT, { label: 'Copy for a bug report', execute: copyReport });
  }

  /** At `anchor`, as far as there is room. @param {HTMLElement} anchor */
  open(anchor) {
    const menu = this.#menu('Copilot');
    const connection = this.#connections.of(this.#tracker.currentWidget);
    for (const { title, choices } of connection?.menu?.sections ?? []) {
      const submenu = this.#menu(title);
      for (const choice of choices) submenu.addItem({ command: CHOOSE, args: choice });
      menu.addItem({ type: 'submenu', submenu });
    }
    const conversation = this.#menu('Conversation');
    for (const [label, command] of CONVERSATION) conversation.addItem({ command: RUN, args: { label, command } });
    menu.addItem({ type: 'submenu', submenu: conversation });
    menu.addItem({ type: 'separator' });
    menu.addItem({ command: COMMANDS.settings });
    menu.addItem({ command: REPORT });
    const { left, top } = anchor.getBoundingClientRect();
    menu.open(left, top, { horizontalAlignment: 'left' });
  }

  /** @param {string} title */
  #menu(title) {
    const menu = new this.#ui.MenuSvg({ commands: this.#app.commands });
    menu.addClass('copilot-menu');
    menu.title.label = title;
    return menu;
  }

  /** In a new cell, where its output stays. @param {string} command */
  async #run(command) {
    const panel = this.#tracker.currentWidget;
    if (!panel) return;
    const isPython = languageOf(this.#app, panel) === 'python';
    insertBelow(panel, isPython ? `%copilot ${command}` : command);
    await this.#app.commands.execute('notebook:run-cell');
  }
}
