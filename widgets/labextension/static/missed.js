// @ts-check
// Turns that went on while the page was not connected: they are written into their cells, or offered.

import { receive } from './document.js';
import { isPrompt } from './prompts.js';
import { oneLine } from './text.js';

/**
 * @typedef {import('@jupyterlab/notebook').NotebookPanel} NotebookPanel
 * @typedef {import('@jupyterlab/cells').CodeCell} CodeCell
 * @typedef {{turn: string, cell: string, source: string, cleared: boolean}} Turn
 *   One run of a cell; `turn` is the id of its request. `pages/pages.py` has the members.
 */

const RECORD = 'copilot_kernel'; // in the metadata of a turn's last output
const RESTARTED = 'The kernel was restarted or shut down before this turn ended.';
const OURS = ['text/html', 'application/vnd.jupyter.widget-view+json'];
const MAX_TITLE = 60;
const LIVE = 'copilot-live'; // the page shows what follows
const ELSEWHERE = 'copilot-elsewhere';
const OUTDATED = 'copilot-outdated';

export class MissedTurns {
  #panel;
  #document;
  #language;
  #send;
  /** The cells that this page writes, by their turns. @type {Map<string, CodeCell>} */
  #cells = new Map();
  /** Turns of which nothing has come yet. @type {Set<string>} */
  #awaited = new Set();
  /** Turns that have ended and are not saved. @type {Set<string>} */
  #ended = new Set();
  /** Those of them that each running save holds: one save may start while another one runs. @type {string[][]} */
  #saving = [];
  /** @type {Map<string, HTMLElement>} */
  #offers = new Map();
  /** Number of cells that were put back, where the notebook has lost all. @type {number | undefined} */
  #restored;

  /**
   * @param {NotebookPanel} panel @param {import('./document.js').NotebookDocument} document
   * @param {string} language Of the kernel. @param {(data: Record<string, any>) => any} send The message's future.
   */
  constructor(panel, document, language, send) {
    this.#panel = panel;
    this.#document = document;
    this.#language = language;
    this.#send = send;
    panel.context.saveState.connect(this.#onSave, this);
  }

  end() {
    this.#panel.context.saveState.disconnect(this.#onSave, this);
    this.#offers.forEach(offer => offer.remove());
  }

  /** Write what this page has missed. @param {Turn[]} turns */
  write(turns) {
    // Loaded again before the first save: the page has made a new empty cell.
    if (this.#panel.content.widgets.every(({ model }) => !model.sharedModel.getSource())) this.#restored ??= 0;
    for (const turn of turns) {
      this.#offers.get(turn.turn)?.remove();
      const { cell: id, source, cleared } = turn;
      if (this.#restored !== undefined && id && !cleared && !this.#document.has(id)) {
        this.#panel.content.model?.sharedModel.insertCell(this.#restored++, { id, cell_type: 'code', source });
      }
      const cell = this.#cellOf(turn);
      if (cell) this.#take(turn, cell);
      else this.#offer(turn);
    }
  }

  /**
   * Say that another page shows the turns of these cells, and hide the answer of a turn before.
   * @param {string[]} cells @param {boolean} [hasBegun] What they show is of before; else it may be of this turn.
   */
  elsewhere(cells, hasBegun = false) {
    if (this.#panel.context.model.collaborative) return; // all pages show the same outputs
    for (const { model, node } of cells.flatMap(id => this.#codeCell(id) ?? [])) {
      const hasEnded = model.outputs.toJSON().some(({ metadata }) => Object(metadata)[RECORD]);
      if (hasBegun || hasEnded) node.classList.add(OUTDATED);
      if (node.lastElementChild?.classList.contains(ELSEWHERE)) continue;
      const note = document.createElement('div');
      note.className = `copilot-missed ${ELSEWHERE}`;
      note.textContent = 'This turn is shown in another page.';
      node.append(note);
    }
  }

  /** A turn runs in a cell of this page: whoever clears that does not want it back. @param {string} id */
  began(id) {
    const { model, outputArea } = this.#document.codeCell(id);
    const { future } = outputArea;
    const turn = idOf(future);
    const changed = () => {
      if (outputArea.future !== future) model.outputs.changed.disconnect(changed);
      else if (!model.outputs.length) this.#send({ cleared: turn });
    };
    if (turn) model.outputs.changed.connect(changed);
  }

  /** @param {string} turn @param {number | null} count The prompt number of its cell. */
  ended(turn, count) {
    if (this.#awaited.has(turn)) return; // it is said again after what the cell shows
    const cell = this.#cells.get(turn);
    if (cell && !cell.isDisposed) show(cell, 'idle', count);
    this.#ended.add(turn);
    if (this.#panel.context.model.collaborative) this.#settle([turn]);
  }

  /** @param {unknown} _ @param {string} state */
  #onSave(_, state) {
    if (state === 'started') {
      this.#saving.push([...this.#ended]);
      return;
    }
    const saved = this.#saving.shift();
    if (state === 'completed' && saved?.length) this.#settle(saved);
  }

  /** They are in the notebook, as the user has left them there. @param {string[]} turns */
  #settle(turns) {
    turns.forEach(turn => this.#ended.delete(turn));
    this.#send({ saved: turns });
  }

  /** Its cell, if that is as it was when it ran. @param {Turn} turn */
  #cellOf({ turn, cell: id, source, cleared }) {
    const cell = cleared ? undefined : this.#codeCell(id);
    const ranAgain = cell?.outputArea.future && !this.#shows(turn, cell);
    return ranAgain || cell?.model.sharedModel.getSource() !== source ? undefined : cell;
  }

  /** Unless it was deleted, or made another type. @param {string} id */
  #codeCell(id) {
    const cell = this.#panel.content.widgets.find(({ model }) => model.id === id && model.type === 'code');
    return /** @type {CodeCell | undefined} */ (cell);
  }

  /** Whether this page has run it, or has taken it over. @param {string} turn @param {CodeCell} cell */
  #shows(turn, cell) {
    return idOf(cell.outputArea.future) === turn || this.#cells.get(turn) === cell;
  }

  /**
   * The message is from now on the parent of all that the cell shows, so that JupyterLab's own output area writes it.
   * What the cell holds stays until that comes.
   * @param {Turn} turn @param {CodeCell} cell
   */
  #take({ turn }, cell) {
    const { model } = cell;
    // As the notebook was saved: a run has taken the number away, and in Python other code may have shown something.
    const isSavedRun = this.#language === 'python' && model.executionCount === null;
    const isOfThisRun = isSavedRun || this.#shows(turn, cell);
    this.#cells.set(turn, cell);
    this.#awaited.add(turn);
    const future = this.#send({ take: turn });
    future.onIOPub = (/** @type {import('@jupyterlab/services').KernelMessage.IIOPubMessage} */ message) => {
      if (message.header.msg_type === 'status') return undefined;
      const others = isOfThisRun ? shownByOthers(model) : [];
      receive(cell, future);
      markLive({ cell });
      this.#awaited.delete(turn);
      others.forEach(output => model.outputs.add(output));
      return future.onIOPub(message);
    };
    cell.outputHidden = false;
    show(cell, 'running', null);
  }

  /** Where it cannot be written, at the end of the last answer. @param {Turn} turn */
  #offer(turn) {
    const cell = promptsOf(this.#panel, this.#language).at(-1) ?? this.#panel.content.widgets.at(-1);
    if (!cell) return;
    const offer = document.createElement('div');
    const button = document.createElement('button');
    offer.className = 'copilot-missed';
    button.className = 'jp-mod-styled';
    button.textContent = 'Show what it did';
    button.addEventListener('click', () => {
      offer.remove();
      const { id } = this.#document.insert({ source: turn.source, type: 'code', after: cell.model.id });
      this.#take(turn, this.#document.codeCell(id));
    });
    offer.append(`“${oneLine(turn.source, MAX_TITLE)}” ran while this page was closed. `, button);
    cell.node.append(offer);
    this.#offers.set(turn.turn, offer);
  }
}

/** Whatever is shown in a cell, this page shows what follows. @param {{cell: import('@jupyterlab/cells').Cell}} scheduled */
export function markLive({ cell }) {
  cell.node.classList.add(LIVE);
  cell.node.classList.remove(OUTDATED);
  cell.node.querySelector(`.${ELSEWHERE}`)?.remove();
}

/**
 * Say of turns that no kernel knows that their kernel has gone: those whose cells are neither numbered nor have a record.
 * @param {NotebookPanel} panel @param {string} language @param {string[]} known Cells.
 */
export function markLost(panel, language, known) {
  for (const { model, node } of promptsOf(panel, language)) {
    const outputs = model.outputs.toJSON();
    const isOpen = model.executionCount === null && model.executionState !== 'running' && outputs.length > 0;
    if (!isOpen || known.includes(model.id) || outputs.some(({ metadata }) => Object(metadata)[RECORD])) continue;
    node.classList.remove(LIVE);
    model.outputs.add({
      output_type: 'display_data',
      data: { 'text/plain': RESTARTED, 'text/html': `<div style="font-size:14px">⚠ ${RESTARTED}</div>` },
      metadata: { [RECORD]: { schema: 1, stop_reason: 'lost' } },
    });
  }
}

/** The cells that hold prompts. @param {NotebookPanel} panel @param {string} language @returns {CodeCell[]} */
function promptsOf({ content }, language) {
  const isOne = (/** @type {any} */ { model }) => model.type === 'code' && isPrompt(model.sharedModel.getSource(), language);
  return /** @type {CodeCell[]} */ (content.widgets.filter(isOne));
}

/**
 * What other code of the cell has shown. The page may not have received it: of an untrusted cell, only the text stays.
 * @param {import('@jupyterlab/cells').ICodeCellModel} model @returns {import('@jupyterlab/nbformat').IOutput[]}
 */
function shownByOthers({ outputs, trusted }) {
  const others = outputs.toJSON().filter(output => !isOurs(output));
  return trusted ? others : others.map(output => (output.output_type === 'stream' ? output : {
    output_type: 'display_data', data: { 'text/plain': Object(output.data)['text/plain'] ?? '' }, metadata: {},
  }));
}

/** @param {import('@jupyterlab/nbformat').IOutput} output */
function isOurs({ output_type: type, data }) {
  return type === 'error' || (type === 'display_data' && Object.keys(data ?? {}).some(mime => OURS.includes(mime)));
}

/** @param {any} future @returns {string | undefined} The id of its message. */
function idOf(future) {
  return future?.msg.header.msg_id;
}

/** @param {CodeCell} cell @param {'idle' | 'running'} state @param {number | null} count */
function show(cell, state, count) {
  cell.model.executionState = state;
  cell.model.executionCount = count;
  cell.setPrompt(state === 'running' ? '*' : `${count ?? ''}`);
}
