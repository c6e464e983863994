// @ts-check
// What JupyterLab and Notebook 7 activate: the parts and who hears of what.

import { answerByKeys } from '../../../kernel/copilot_kernel/server/chat/static/answers.js';
import { AskCards } from './asks.js';
import { Attachments } from './attachments.js';
import { equipCards } from './cards.js';
import { CodeBlocks } from './codeblocks.js';
import { COMMANDS, Commands } from './commands.js';
import { Connections } from './connection.js';
import { followLanguages, languageOf } from './kernels.js';
import { markEdits } from './marks.js';
import { StatusMenu } from './menu.js';
import { namePictures } from './pictures.js';
import { markPrompts } from './promptcells.js';
import { hasPrompts } from './prompts.js';
import { Questions } from './questions.js';
import { Saves } from './saves.js';
import { Settings } from './settings.js';
import { Server } from './settingspage.js';
import { Announcer, BrowserTab, StatusItem, markTab, summary } from './status.js';
import { leaveOutOutputs } from './toc.js';
import { offerUndo } from './undo.js';

/**
 * The page's own copies of packages; Notebook 7 has no status bar.
 * @typedef {object} Shared
 * @property {typeof import('@jupyterlab/notebook')} notebook
 * @property {typeof import('@jupyterlab/apputils')} apputils
 * @property {typeof import('@jupyterlab/settingregistry')} settings
 * @property {typeof import('@jupyterlab/ui-components')} ui
 * @property {typeof import('@lumino/widgets')} widgets
 * @property {typeof import('@lumino/signaling')} signaling
 * @property {typeof import('@jupyterlab/statusbar') | undefined} statusbar
 * @property {typeof import('@jupyterlab/toc')} toc
 *
 * @typedef {import('@jupyterlab/application').JupyterFrontEnd} JupyterFrontEnd
 * @typedef {import('@jupyterlab/notebook').INotebookTracker} INotebookTracker
 * @typedef {import('@jupyterlab/apputils').ICommandPalette} ICommandPalette
 * @typedef {import('@jupyterlab/settingregistry').ISettingRegistry} ISettingRegistry
 * @typedef {import('@jupyterlab/statusbar').IStatusBar} IStatusBar
 * @typedef {import('@jupyterlab/toc').ITableOfContentsTracker} ITableOfContentsTracker
 *
 * @typedef {object} Services
 * @property {INotebookTracker} tracker
 * @property {ICommandPalette | null} palette
 * @property {ISettingRegistry | null} registry
 * @property {ITableOfContentsTracker | null} contents
 * @property {IStatusBar | null} [bar]
 */

const ID = 'copilot-kernel:plugin';
const CELL_LINK = 'a[href^="#cell-id="]';
const ASK_ICON = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16"><path class="jp-icon3" fill="#616161"
  d="M7 1.5 8.5 6 13 7.5 8.5 9 7 13.5 5.5 9 1 7.5 5.5 6zM12.5 10l.8 2.2 2.2.8-2.2.8-.8 2.2-.8-2.2-2.2-.8 2.2-.8z"/></svg>`;

/** @param {Shared} shared @returns {import('@jupyterlab/application').JupyterFrontEndPlugin<void>} */
export function plugin(shared) {
  const { notebook, apputils, settings, toc, statusbar } = shared;
  return {
    id: ID,
    description: 'The agent works in the notebook that the page shows.',
    autoStart: true,
    requires: [notebook.INotebookTracker],
    optional: [
      apputils.ICommandPalette, settings.ISettingRegistry, toc.ITableOfContentsTracker, ...(statusbar ? [statusbar.IStatusBar] : []),
    ],
    activate(app, ...services) {
      const [tracker, palette, registry, contents, bar] = services;
      activate(app, shared, { tracker, palette, registry, contents, bar });
    },
  };
}

/**
 * @param {JupyterFrontEnd} app @param {Shared} shared
 * @param {Services} services
 */
function activate(app, shared, { tracker, palette, registry, contents, bar }) {
  addStyle();
  const { Notification } = shared.apputils;
  const settings = new Settings();
  if (registry) void settings.follow(registry, ID);
  const questions = new Questions(app, Notification, settings, new Announcer(), new Saves(app.serviceManager.contents));
  const asks = new AskCards();
  const browserTab = new BrowserTab();
  const item = new StatusItem(
    shared.widgets, shared.signaling, () => void questions.showFirst(), anchor => menu.open(anchor),
  );

  const showStatus = () => {
    const known = connections.all().map(connection => ({
      agent: connection.agent,
      state: connection.state,
      standing: connection.standing,
      questions: connection.questions.length,
      elsewhere: connection.elsewhere,
      current: connection.panel === tracker.currentWidget,
      menu: connection.menu,
    }));
    const front = tracker.currentWidget;
    if (front && !connections.of(front) && hasPrompts(front.content, languageOf(app, front))) {
      known.push({ agent: 'Copilot', state: 'idle', standing: '', questions: 0, elsewhere: false, current: true, menu: undefined });
    }
    const shown = summary(known);
    item.show(shown);
    browserTab.mark(shown.kind === 'waiting');
  };
  const connections = new Connections(app, tracker, {
    changed(connection) {
      markTab(connection);
      questions.update(connection);
      asks.update(connection);
      app.commands.notifyCommandChanged(COMMANDS.question);
      showStatus();
    },
    turnBegan: connection => questions.turnBegan(connection),
    turnEnded: (connection, turn) => questions.turnEnded(connection, turn),
    refused: (ask, words) => asks.complain(ask, words),
    done: (words, failed) => void (failed ? Notification.error(words) : Notification.success(words, { autoClose: 3000 })),
  }, shared.notebook.NotebookActions);

  const server = new Server(app.serviceManager.serverSettings);
  const menu = new StatusMenu(app, shared, tracker, connections, async () => {
    const { body } = await server.request('report');
    await shared.apputils.Clipboard.copyToSystem(body.report);
  });
  showStatus();
  tracker.currentChanged.connect(showStatus);
  followLanguages(app, tracker, showStatus);
  document.addEventListener('visibilitychange', showStatus);
  bar?.registerStatusItem('copilot-kernel:status', {
    item: item.widget,
    align: 'left',
    rank: 90,
    priority: 1,
    isActive: () => item.isActive,
    activeStateChanged: item.activeStateChanged,
  });
  const { LabIcon } = shared.ui;
  new Commands(app, tracker, shared, new LabIcon({ name: 'copilot-kernel:ask', svgstr: ASK_ICON }), questions);
  for (const command of Object.values(COMMANDS)) palette?.addItem({ command, category: 'Copilot' });
  new Attachments(app, tracker, Notification);
  new CodeBlocks(tracker, text => shared.apputils.Clipboard.copyToSystem(text), connections);
  offerUndo(app, tracker);
  equipCards(app, tracker);
  answerByKeys();
  markPrompts(app, tracker);
  markEdits(tracker, connections);
  namePictures(tracker);
  if (contents) leaveOutOutputs(app, tracker, contents);
  followCellLinks(tracker, connections);
}

function addStyle() {
  const link = document.createElement('link');
  link.rel = 'stylesheet';
  link.href = new URL('style.css', import.meta.url).href;
  document.head.append(link);
}

/**
 * Links of outputs to cells (`#cell-id=ID`) go to the cell. In a notebook of a format without ids, their number counts.
 * @param {INotebookTracker} tracker @param {Connections} connections
 */
function followCellLinks(tracker, connections) {
  document.addEventListener('click', event => {
    const link = event.target instanceof Element ? event.target.closest(CELL_LINK) : null;
    const panel = tracker.find(({ node }) => link !== null && node.contains(link));
    if (!panel || !link) return;
    const page = connections.documentOf(panel);
    const id = decodeURIComponent(link.getAttribute('href')?.slice('#cell-id='.length) ?? '');
    const { model, widgets } = panel.content;
    const counted = model && model.nbformatMinor < 5 ? widgets[Number(/\d+/.exec(link.textContent ?? '')) - 1] : undefined;
    const cell = page.has(id) ? id : counted?.model.id;
    if (!cell) return;
    event.preventDefault();
    event.stopPropagation();
    void page.show(cell);
  }, true);
}
