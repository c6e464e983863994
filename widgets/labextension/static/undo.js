// @ts-check
// Undo beside what a turn has changed: it runs the command, which shows what it would do and asks.

import { languageOf } from './kernels.js';
import { button, equip } from './outputs.js';
import { undoOf } from './prompts.js';

const TURN = /^copilot-undo-(\d+-[0-9a-f]+)$/; // nothing else: the command is run
const CHANGED = 'copilot-undo';
const BUTTON = 'copilot-undo-button';
/** The buttons of this module: what an output shows may look like one. @type {WeakSet<Element>} */
const buttons = new WeakSet();

/**
 * @param {import('@jupyterlab/application').JupyterFrontEnd} app
 * @param {import('@jupyterlab/notebook').INotebookTracker} tracker
 */
export function offerUndo(app, tracker) {
  equip(tracker, CHANGED, panel => element => {
    const turn = [...element.classList].map(name => TURN.exec(name)?.[1]).find(Boolean);
    if (!turn || element.firstElementChild?.className === BUTTON) return;
    const undo = button('Undo', () => void run());
    undo.className = BUTTON;
    undo.title = 'Shows what would be restored, and asks first';
    /** In a cell below the one that shows the change. */
    const run = async () => {
      const { content } = panel;
      const index = content.widgets.findIndex(each => each.node.contains(element));
      const source = undoOf(turn, languageOf(app, panel));
      if (index < 0) return;
      content.model?.sharedModel.insertCell(index + 1, { cell_type: 'code', source, metadata: { trusted: true } });
      content.activeCellIndex = index + 1;
      content.deselectAll();
      await app.commands.execute('notebook:run-cell');
    };
    buttons.add(undo);
    element.append(undo);
  });
}

/** The button below the turn that a cell shows. @param {Element} cell @returns {HTMLElement | undefined} */
export function undoIn(cell) {
  const found = /** @type {NodeListOf<HTMLElement>} */ (cell.querySelectorAll(`.${BUTTON}`));
  return [...found].find(each => buttons.has(each));
}
