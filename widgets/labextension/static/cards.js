// @ts-check
// Buttons on the cards of errors: what the card advises, begun by a click.

import { languageOf } from './kernels.js';
import { button, equip } from './outputs.js';
import { demoOf, revokeOf } from './prompts.js';
import { visible } from './text.js';

/**
 * @typedef {import('@jupyterlab/application').JupyterFrontEnd} JupyterFrontEnd
 * @typedef {import('@jupyterlab/notebook').NotebookPanel} NotebookPanel
 */

const CARD = 'copilot-failure';
const NEEDS_AGENT = 'copilot-no-agent';
const COMMAND = '.copilot-command';
const FOR_A_CELL = '.copilot-cell-command';
const REVOKE = /^(?:%copilot )?%permissions revoke ([0-9a-f]{8})$/;
const TOOLS = 'copilot-card-tools';
const TERMINAL = 'terminal:create-new';

/** @param {JupyterFrontEnd} app @param {import('@jupyterlab/notebook').INotebookTracker} tracker */
export function equipCards(app, tracker) {
  equip(tracker, CARD, panel => card => equipCard(app, panel, card));
}

/** @param {JupyterFrontEnd} app @param {NotebookPanel} panel @param {Element} card */
export function equipCard(app, panel, card) {
  if (card.querySelector(`.${TOOLS}`)) return;
  const made = [];
  const command = commandOf(card);
  if (command && app.commands.hasCommand(TERMINAL) && app.serviceManager.terminals.isAvailable()) {
    made.push(button('Open a terminal', () => void type(app, command)));
    made[0].title = `With the command typed, for you to run: ${command}`;
  }
  if (card.classList.contains(NEEDS_AGENT)) made.push(button('Try the demo agent', () => void again(app, panel, card, demoOf(languageOf(app, panel)))));
  const id = card.querySelector(FOR_A_CELL)?.textContent?.trim().match(REVOKE)?.[1];
  if (id) made.push(button('Ask again', () => void again(app, panel, card, revokeOf(id, languageOf(app, panel)))));
  if (!made.length) return;
  const tools = document.createElement('div');
  tools.className = TOOLS;
  made.forEach(each => each.classList.add('jp-mod-styled'));
  tools.append(...made);
  (card.querySelector(COMMAND)?.closest('details') ?? card).append(tools); // folded with the command
}

/** The first command of a card, if it is one line in which nothing hides: a line break would run it. @param {Element} card */
function commandOf(card) {
  const line = card.querySelector(COMMAND)?.textContent?.trim().split('\n')[0] ?? '';
  return line === visible(line) && !line.includes('\t') ? line : '';
}

/** @param {JupyterFrontEnd} app @param {string} command */
async function type({ commands, serviceManager }, command) {
  const session = await serviceManager.terminals.startNew();
  const typed = new Promise(resolve => session.messageReceived.connect(function once(_, { type }) {
    if (type !== 'stdout') return; // the shell's prompt
    session.messageReceived.disconnect(once);
    session.send({ type: 'stdin', content: [command] });
    resolve(undefined);
  }));
  await typed;
  await commands.execute(TERMINAL, { name: session.name });
  session.dispose();
}

/**
 * A command of ours, and the cell again.
 * @param {JupyterFrontEnd} app @param {NotebookPanel} panel @param {Element} card @param {string} code
 */
async function again(app, panel, card, code) {
  const { content, sessionContext } = panel;
  const reply = await sessionContext.session?.kernel?.requestExecute({ code, store_history: false }).done;
  const index = content.widgets.findIndex(({ node }) => node.contains(card));
  if (reply?.content.status !== 'ok' || index < 0) return;
  content.activeCellIndex = index;
  content.deselectAll();
  await app.commands.execute('notebook:run-cell');
}
