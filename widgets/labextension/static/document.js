// @ts-check
// The document on the page: what the kernel may do to it. Each act is one step of undo; focus and scroll stay.

import { bounded, difference, portable } from './text.js';

/**
 * @typedef {import('@jupyterlab/notebook').NotebookPanel} NotebookPanel
 * @typedef {import('@jupyterlab/cells').Cell} Cell
 * @typedef {import('@jupyterlab/cells').CodeCell} CodeCell
 * @typedef {import('./connection.js').Channel} Channel
 * @typedef {Record<string, any>} Args
 * @typedef {{id: string, top: number}} Place A cell in view, and where its top is.
 */

const FLASH_MS = 1700;
const SCROLL_MS = 500;
const SETTLE_FRAMES = 40;
const REPLY_MS = 250; // until a reply has reached the kernel
const TYPES = ['code', 'markdown', 'raw'];
const HANDED_OVER = 2_000_000; // characters of deleted cells: what the kernel sends back at once, a server lets pass

/** An operation that was not done. `kind`: changed (meanwhile), missing, invalid or failed. */
export class OperationError extends Error {
  /** @param {'changed' | 'missing' | 'invalid' | 'failed'} kind @param {string} message */
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

export class NotebookDocument {
  #panel;
  #actions;
  #shared;
  /** Cells that the agent runs. @type {Set<string>} */
  #runs = new Set();
  /** @type {Place | undefined} */
  #place;
  /** Left until the place is forgotten. */
  #frames = 0;
  /** Cells that were deleted, as they were. @type {Map<string, import('@jupyterlab/nbformat').ICell>} */
  #deleted = new Map();
  #handedOver = 0;

  /** @param {NotebookPanel} panel @param {typeof import('@jupyterlab/notebook').NotebookActions} actions */
  constructor(panel, actions) {
    const model = panel.content.model;
    if (!model) throw new OperationError('failed', 'The notebook is not loaded yet.');
    this.#panel = panel;
    this.#actions = actions;
    this.#shared = model.sharedModel;
    // Whoever scrolls wants to be elsewhere.
    panel.content.outerNode.addEventListener('wheel', () => { this.#place = undefined; }, { passive: true });
  }

  /**
   * Do one operation of the kernel's.
   * @param {string} op @param {Args} args @param {Channel} channel
   * @returns {any} The result, or an OperationError is thrown.
   */
  perform(op, args, channel) {
    switch (op) {
      case 'read': return this.read(args);
      case 'insert': return this.insert(args);
      case 'edit': return this.edit(args);
      case 'delete': return this.delete(args);
      case 'move': return this.move(args);
      case 'clear': return this.clear(args);
      case 'run': return this.run(args, channel);
      case 'show': return this.#showUnlessTyping(args.id);
      case 'restart': return this.#restart();
      default: throw new OperationError('invalid', `The page knows no operation '${op}'.`);
    }
  }

  // -- reading ---------------------------------------------------------------------------------------------------------

  /** @param {Args} args */
  read({ ids, outputs = false, limit = 4000 }) {
    const chosen = Array.isArray(ids) ? ids.map(id => this.#index(id)) : this.#shared.cells.keys();
    return { cells: [...chosen].map(index => this.#described(index, outputs, limit)) };
  }

  /** @param {number} index @param {boolean} outputs @param {number} limit */
  #described(index, outputs, limit) {
    const cell = this.#shared.cells[index];
    const described = { id: cell.getId(), type: cell.cell_type, source: cell.getSource() };
    if (cell.cell_type !== 'code') return { ...described, execution_count: null, running: false };
    const code = /** @type {import('@jupyter/ydoc').ISharedCodeCell} */ (cell);
    const all = code.getOutputs();
    const error = all.find(output => output.output_type === 'error')?.ename;
    const shown = { ...(outputs && { outputs: all.map(output => bounded(output, limit)) }), ...(error && { error }) };
    return { ...described, execution_count: code.execution_count, running: this.#isRunning(code), ...shown };
  }

  /** @param {string} id */
  isRunning(id) {
    return this.has(id) && this.#isRunning(this.#shared.cells[this.#index(id)]);
  }

  /** @param {any} cell */
  #isRunning(cell) {
    return cell.executionState === 'running';
  }

  // -- changing --------------------------------------------------------------------------------------------------------

  /**
   * Below `after`, at the top for null. `deleted` is a whole cell that comes back.
   * @param {Args} args
   */
  insert({ deleted = {}, source = deleted.source, type = deleted.cell_type, after }) {
    if (typeof source !== 'string' || !TYPES.includes(type)) {
      throw new OperationError('invalid', 'A new cell needs a source and a type: code, markdown or raw.');
    }
    if (this.has(deleted.id)) throw new OperationError('changed', `Cell ${deleted.id} is there again.`);
    const index = this.#indexBelow(after);
    const metadata = type === 'code' ? { trusted: true } : {};
    const cell = { cell_type: type, metadata, ...(this.#deleted.get(deleted.id) ?? deleted), source };
    let inserted = '';
    this.#change(() => {
      inserted = this.#shared.insertCell(index, cell).getId();
    });
    this.#flash(inserted);
    return { id: inserted, left_out: cell.left_out };
  }

  /**
   * Replaces only what differs, so that cursors stay; with a `type`, returns that before. A cell that waits to run may run
   * what it holds then: only the one that asks, whose source has been sent, can be edited while it runs.
   * @param {Args} args
   */
  edit({ id, expected, source, type, asking }) {
    if (typeof source !== 'string') throw new OperationError('invalid', 'An edit needs a source.');
    const cell = this.#cellWith(id, expected);
    const was = cell.cell_type;
    if (id !== asking) this.#mustNotRun(id);
    if (cell.getMetadata('editable') === false) throw new OperationError('invalid', `Cell ${id} is read-only.`);
    if (/\r/.test(expected) || (type ?? was) !== was) {
      this.#remake(id, source, type ?? was);
    } else {
      const { start, end, text } = difference(expected, source);
      asOneStep(cell, () => cell.updateSource(start, end, text));
    }
    this.#flash(id).inputHidden = false;
    return type === undefined ? {} : { was };
  }

  /**
   * An editor holds each line end as one character, so it cannot follow changes of a source in which one is two. Of a
   * cell that gets another type, outputs go.
   * @param {string} id @param {string} source @param {string} type
   */
  #remake(id, source, type) {
    this.#mustNotRun(id);
    if (!TYPES.includes(type)) throw new OperationError('invalid', `There is no type of cell '${type}'.`);
    const index = this.#index(id);
    const whole = this.#shared.cells[index].toJSON();
    const { metadata, attachments } = /** @type {Args} */ (whole);
    const made = { id, cell_type: type, source, metadata: type === 'code' ? { ...metadata, trusted: true } : metadata };
    const cell = type === whole.cell_type ? { ...whole, source } : { ...made, ...(attachments && { attachments }) };
    this.#change(() => {
      this.#shared.deleteCell(index);
      this.#shared.insertCell(index, cell);
    });
  }

  /** @param {Args} args */
  delete({ id, expected }) {
    const cell = this.#cellWith(id, expected);
    this.#mustNotRun(id);
    if (cell.getMetadata('deletable') === false) throw new OperationError('invalid', `Cell ${id} cannot be deleted.`);
    if (this.#isTyping() && this.#panel.content.activeCell?.model.id === id) this.#dropKeys();
    const whole = cell.toJSON();
    const handedOver = portable(whole, HANDED_OVER - this.#handedOver);
    this.#deleted.set(id, whole);
    this.#handedOver += JSON.stringify(handedOver).length;
    this.#change(() => {
      this.#shared.deleteCell(this.#index(id));
      if (!this.#shared.cells.length) this.#shared.addCell({ cell_type: 'code', metadata: { trusted: true } });
    });
    return { cell: handedOver };
  }

  /** What the user types on must neither reach another cell nor count as commands. */
  #dropKeys() {
    this.#panel.content.mode = 'command';
    const focused = document.activeElement;
    if (focused instanceof HTMLElement) focused.blur();
  }

  /** @param {Args} args */
  move({ id, expected, after }) {
    this.#cellWith(id, expected);
    this.#mustNotRun(id);
    if (after === id) throw new OperationError('invalid', 'A cell cannot be moved below itself.');
    const from = this.#index(id);
    const below = this.#indexBelow(after);
    const to = below > from ? below - 1 : below;
    if (to !== from) this.#change(() => this.#moveTo(from, to));
    this.#flash(id);
    return {};
  }

  /**
   * A moved cell is made anew. The one that the user types in stays, and its neighbours move.
   * @param {number} from @param {number} to
   */
  #moveTo(from, to) {
    const distance = Math.abs(to - from);
    const first = Math.min(to, from + 1);
    const neighbours = this.#shared.cells.slice(first, first + distance);
    const typedIn = this.#isTyping() && this.#panel.content.activeCellIndex === from;
    if (!typedIn || neighbours.some(cell => this.#isRunning(cell))) this.#shared.moveCell(from, to);
    else this.#shared.moveCells(first, from, distance);
  }

  /** @param {Args} args */
  clear({ ids }) {
    const cells = ids.map((/** @type {string} */ id) => this.codeCell(id));
    ids.forEach((/** @type {string} */ id) => this.#mustNotRun(id));
    for (const cell of cells) {
      cell.model.clearExecution();
      cell.outputHidden = false;
    }
    return {};
  }

  /** @param {string | null} after */
  #indexBelow(after) {
    return after === null ? 0 : this.#index(after) + 1;
  }

  /** One step of undo; the active cell, the cursor and what is in view stay. @param {() => void} change */
  #change(change) {
    const restore = this.#keepPlace();
    asOneStep(this.#shared, () => this.#shared.transact(change, true));
    restore();
  }

  // -- running ---------------------------------------------------------------------------------------------------------

  /**
   * Ask the kernel to run a cell. The message itself is the parent of all that comes of it, so that JupyterLab's own
   * output area shows it, inputs and widgets included.
   * @param {Args} args @param {Channel} channel
   */
  run({ id, expected, run }, channel) {
    this.#cellWith(id, expected);
    this.#mustNotRun(id);
    const cell = this.codeCell(id);
    cell.model.clearExecution();
    cell.outputHidden = false;
    cell.model.executionState = 'running';
    cell.setPrompt('*');
    this.#runs.add(id);
    receive(cell, channel.send({ run, id, code: expected }, { keep: true }));
    this.#flash(id).inputHidden = false;
    return {};
  }

  /** A run has ended. @param {Args} args */
  ran({ id, execution_count: count = null }) {
    this.#runs.delete(id);
    const cell = this.codeCell(id);
    cell.model.executionState = 'idle';
    cell.model.executionCount = count;
    cell.setPrompt(`${count ?? ''}`);
  }

  /** Nothing that the agent ran still runs: its turn is over, or the kernel has gone. */
  endRuns() {
    for (const id of this.#runs) {
      if (this.has(id)) this.ran({ id });
    }
    this.#runs.clear();
  }

  /** Restart the kernel, which ends the comm: not before the reply has gone. */
  #restart() {
    const { sessionContext } = this.#panel;
    if (!sessionContext.session?.kernel) throw new OperationError('failed', 'The notebook has no kernel.');
    setTimeout(() => void sessionContext.restartKernel(), REPLY_MS);
    return {};
  }

  // -- finding ---------------------------------------------------------------------------------------------------------

  /** @param {string} id */
  has(id) {
    return this.#shared.cells.some(cell => cell.getId() === id);
  }

  /** @param {string} id */
  #index(id) {
    const index = this.#shared.cells.findIndex(cell => cell.getId() === id);
    if (index < 0) throw new OperationError('missing', `No cell ${id}.`);
    return index;
  }

  /** The cell, if it still holds what the agent expects. @param {string} id @param {string} expected */
  #cellWith(id, expected) {
    const cell = this.#shared.cells[this.#index(id)];
    if (cell.getSource() !== expected) throw new OperationError('changed', `Cell ${id} was changed meanwhile.`);
    return cell;
  }

  /** @param {string} id @returns {CodeCell} */
  codeCell(id) {
    const cell = this.#panel.content.widgets[this.#index(id)];
    if (cell.model.type !== 'code') throw new OperationError('invalid', `Cell ${id} is not a code cell.`);
    return /** @type {CodeCell} */ (cell);
  }

  /** @param {string} id */
  #mustNotRun(id) {
    if (this.isRunning(id)) throw new OperationError('invalid', `Cell ${id} runs now or waits to run.`);
  }

  // -- showing ---------------------------------------------------------------------------------------------------------

  /** Scroll to a cell and mark it for a moment. @param {string} id */
  async show(id) {
    const index = this.#index(id);
    this.#flash(id);
    // The promise of a cell that is not rendered may stay open.
    const late = new Promise(resolve => setTimeout(resolve, SCROLL_MS));
    await Promise.race([this.#panel.content.scrollToItem(index, 'smart'), late]);
  }

  /** @param {string} id */
  #showUnlessTyping(id) {
    if (this.#isTyping()) this.#flash(id);
    else void this.show(id);
    return {};
  }

  #isTyping() {
    return this.#panel.content.activeCell?.editor?.hasFocus() ?? false;
  }

  /** Mark a cell for a moment, in no collapsed section. @param {string} id */
  #flash(id) {
    const { content } = this.#panel;
    const cell = content.widgets[this.#index(id)];
    this.#actions.expandParent(cell, content);
    const { classList } = cell.node;
    classList.remove('copilot-changed');
    requestAnimationFrame(() => classList.add('copilot-changed'));
    setTimeout(() => classList.remove('copilot-changed'), FLASH_MS);
    return cell;
  }

  /** Remember the active cell and what is in view; the result goes back there. */
  #keepPlace() {
    const { content } = this.#panel;
    const activeId = content.activeCell?.model.id;
    const seen = this.#cellInView();
    // Acts that follow each other at once keep the place that the first found.
    if (seen) this.#place ??= { id: seen.model.id, top: topOf(seen) };
    return () => {
      const index = this.#shared.cells.findIndex(cell => cell.getId() === activeId);
      if (index >= 0 && content.activeCell?.model.id !== activeId) content.activeCellIndex = index;
      this.#scrollBack();
      const isSettling = this.#frames > 0;
      this.#frames = SETTLE_FRAMES;
      if (!isSettling) this.#settle();
    };
  }

  /** Where only the cells in view are rendered, their places are known some frames later. */
  #settle() {
    requestAnimationFrame(() => {
      this.#scrollBack();
      this.#frames -= 1;
      if (this.#frames > 0) this.#settle();
      else this.#place = undefined;
    });
  }

  #scrollBack() {
    const { content } = this.#panel;
    if (content.isDisposed) return;
    const place = this.#place;
    // The cell may have been made anew.
    const cell = content.widgets.find(({ model }) => model.id === place?.id);
    if (place && cell?.node.isConnected) content.outerNode.scrollTop += topOf(cell) - place.top;
  }

  /** The active cell if it is in view, else the first that is. */
  #cellInView() {
    const { content } = this.#panel;
    const view = content.outerNode.getBoundingClientRect();
    const isInView = (/** @type {Cell} */ cell) => {
      const { top, bottom, height } = cell.node.getBoundingClientRect();
      return height > 0 && bottom > view.top && top < view.bottom;
    };
    return [content.activeCell, ...content.widgets].find(cell => cell && isInView(cell));
  }
}

/**
 * Show what comes of a message in a cell, and trust that: trust is the whole cell's, so what it holds is cleared first.
 * @param {CodeCell} cell @param {any} future
 */
export function receive(cell, future) {
  cell.outputArea.future = future;
  cell.model.outputs.clear();
  cell.model.trusted = true;
}

/** @param {Cell} cell */
function topOf(cell) {
  return cell.node.getBoundingClientRect().top;
}

/**
 * Keep a change apart from what the user did just before and does just after. The interfaces do not name the undo
 * manager, but notebooks and cells have one.
 * @param {unknown} shared @param {() => void} change
 */
function asOneStep(shared, change) {
  const { undoManager } = /** @type {import('@jupyter/ydoc').YNotebook} */ (shared);
  undoManager.stopCapturing();
  change();
  undoManager.stopCapturing();
}
