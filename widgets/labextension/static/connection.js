// @ts-check
// The comm between a kernel and the page that shows its notebook.

import { NotebookDocument, OperationError } from './document.js';
import { languageOf } from './kernels.js';
import { MissedTurns, markLive, markLost } from './missed.js';
import { Notes } from './notes.js';
import { hasPrompts } from './prompts.js';
import { visible } from './text.js';

/**
 * @typedef {import('@jupyterlab/notebook').NotebookPanel} NotebookPanel
 * @typedef {import('@jupyterlab/notebook').INotebookTracker} INotebookTracker
 * @typedef {import('@jupyterlab/services').Kernel.IComm} Comm
 * @typedef {import('@jupyterlab/services').Kernel.IKernelConnection} Kernel
 * @typedef {import('@jupyterlab/services').KernelMessage.ICommOpenMsg} CommOpen
 * @typedef {object} Channel The way to who is at the other end.
 * @property {(data: Record<string, any>, options?: {keep: boolean}) => any} send The message's future, which is kept if
 *   something else will belong to it; undefined if the channel is closed.
 * @property {(received: (data: Record<string, any>) => void, closed: () => void) => void} receive What to call from now on.
 * @property {() => void} close
 * @typedef {{key: string, cell: string, title: string}} Waiting A question of a cell.
 * @typedef {{key: string, title: string, html: string, answers: import('../../../kernel/copilot_kernel/server/chat/static/answers.js').Answers}} Ask A question that the page itself shows;
 *   `title` says on one line what `html` does.
 * @typedef {{command: string, label: string, about: string, current: boolean}} Choice `command` sets it.
 * @typedef {{agent: string, model: string, mode: string, alarms: boolean, sections: {title: string, choices: Choice[]}[]}} Menu
 * @typedef {{seconds?: number, cells?: string[], cell?: string}} EndedTurn
 */

const TARGET = 'copilot.notebook';
const VERSION = 1;
const LOST = ['restarting', 'autorestarting', 'terminating', 'dead'];

/** @param {Comm} comm @returns {Channel} */
function channelOf(comm) {
  return {
    send: (data, { keep } = { keep: false }) => (comm.isDisposed ? undefined : comm.send(data, {}, [], !keep)),
    receive(received, closed) {
      comm.onClose = closed;
      comm.onMsg = ({ content }) => {
        const data = /** @type {Record<string, any>} */ (content.data);
        if (data.event !== 'end') return received(data);
        comm.dispose();
        closed();
      };
    },
    close() {
      if (!comm.isDisposed) comm.close();
    },
  };
}

/** What one kernel has reported about its agent, and the way back. */
export class Connection {
  agent = 'Copilot';
  /** Empty until it is known. */
  state = '';
  /** State and questions are those of a cell that another page shows. */
  elsewhere = false;
  /** What the agent's own commands, options and modes have changed. */
  standing = '';
  /** What is in force, and what can be chosen. @type {Menu | undefined} */
  menu;
  /** @type {Waiting[]} */
  waiting = [];
  /** What the question that was answered last was answered, by its key. @type {Record<string, string>} */
  answered = {};
  /** @type {Map<string, Ask>} */
  asks = new Map();
  #channel;
  #shell;
  #listener;
  /** @type {string | undefined} */
  #askingCell;
  #localPath;
  #language;
  #missed;
  #notes;
  /** The cell that a server runs for this page. */
  #claimed = '';
  /** Another page writes. */
  #waits = false;
  /** The page has opened the comm, and the kernel has not yet said anything. */
  isOpening = false;

  /**
   * @param {NotebookDocument} document @param {NotebookPanel} panel @param {Channel} channel
   * @param {import('@jupyterlab/application').JupyterFrontEnd} app @param {Listener} listener
   * @param {Notes} notes
   */
  constructor(document, panel, channel, app, listener, notes) {
    this.panel = panel;
    this.document = document;
    this.#channel = channel;
    this.#shell = app.shell;
    this.#listener = listener;
    this.#notes = notes;
    /** Without the name of the drive. @param {string} path */
    this.#localPath = path => app.serviceManager.contents.localPath(path);
    this.#language = languageOf(app, panel);
    this.#missed = new MissedTurns(panel, document, this.#language, data => channel.send(data, { keep: true }));
    panel.context.pathChanged.connect(this.#renamed, this);
  }

  /** What the server calls the notebook. */
  get path() {
    return this.#localPath(this.panel.context.path);
  }

  #renamed() {
    this.#channel.send({ path: this.path });
  }

  /** All that waits for an answer; without `cell`, where the page itself asks. @returns {{key: string, title: string, cell?: string}[]} */
  get questions() {
    return [...this.waiting.filter(({ key }) => !this.asks.has(key)), ...this.asks.values()];
  }

  /** @param {Record<string, any>} data A message of the kernel's; unknown ones are ignored. */
  receive(data) {
    this.isOpening = false;
    if (Array.isArray(data.calls)) this.#reply(data.calls);
    switch (data.event) {
      case 'turn': return this.#onTurn(data);
      case 'menu': return this.#onMenu(/** @type {Menu} */ (/** @type {unknown} */ (data)));
      case 'done': return this.#listener.done(data.words, data.failed === true);
      case 'standing': return this.#onStanding(data.words);
      case 'questions': return this.#onQuestions(data);
      case 'ask': return this.#onAsk(/** @type {Ask} */ (/** @type {unknown} */ (data)));
      case 'answered': return this.#onAnswered(data.key);
      case 'refused': return this.#onRefused(data.key, data.words);
      case 'ran': return this.document.has(data.id) ? this.document.ran(data) : undefined;
      case 'ended': return this.#missed.ended(data.turn, data.count);
      case 'missed':
        this.#waits = data.elsewhere.length > 0;
        this.#missed.elsewhere(data.elsewhere);
        this.#missed.write(data.turns);
        return markLost(this.panel, this.#language, data.known);
    }
  }

  /** Answer a question of `asks`; it stays while a rule may be refused. @param {string} key @param {import('../../../kernel/copilot_kernel/server/chat/static/answers.js').Reply} reply */
  answer(key, reply) {
    if (!this.asks.has(key)) return;
    this.#channel.send({ answer: key, ...reply });
    if (!reply.rule) this.#onAnswered(key);
  }

  /** Have the kernel run one of the menu's commands. @param {string} command */
  choose(command) {
    this.#channel.send({ menu: command });
  }

  /** Somebody looks: the page that writes may have gone without a word. */
  look() {
    if (this.#waits) this.#channel.send({ look: true });
  }

  /** The page goes, or no longer shows the notebook: another one may write on. */
  leave() {
    this.#channel.close();
  }

  /** The kernel has gone, or closed the comm: nothing runs, nothing is asked any more. */
  end() {
    this.#missed.end();
    this.panel.context.pathChanged.disconnect(this.#renamed, this);
    if (!this.panel.isDisposed) this.document.endRuns();
    this.state = 'idle';
    this.elsewhere = false;
    this.standing = '';
    this.waiting = [];
    this.asks.clear();
    this.#listener.changed(this);
  }

  /** @param {Record<string, any>[]} calls */
  #reply(calls) {
    this.#channel.send({ replies: calls.map(call => this.#outcome(call)) });
  }

  /** @param {Record<string, any>} call @returns {Record<string, any>} */
  #outcome({ call, op, args }) {
    try {
      return { call, result: this.#perform(op, args ?? {}) };
    } catch (error) {
      const kind = error instanceof OperationError ? error.kind : 'failed';
      return { call, error: { kind, message: error instanceof Error ? error.message : String(error) } };
    }
  }

  /** @param {string} op @param {Record<string, any>} args */
  #perform(op, args) {
    switch (op) {
      case 'documents': return this.#documents();
      case 'claim':
        this.#claimed = this.#notes.claim(this.panel, args.source);
        return { cell: this.#claimed };
      default: return this.document.perform(op, args, this.#channel);
    }
  }

  /** The documents that are open beside the notebook. */
  #documents() {
    const open = [...this.#shell.widgets('main')].filter(widget => widget !== this.panel);
    const paths = open.map(widget => /** @type {{context?: {path?: string}}} */ (widget).context?.path);
    return { paths: paths.filter(path => typeof path === 'string').map(this.#localPath) };
  }

  /** @param {Record<string, any>} event */
  #onTurn({ state, agent, seconds, cell, cells, elsewhere = false }) {
    const hasBegun = this.state === 'idle' && state === 'working';
    this.state = state;
    this.elsewhere = elsewhere;
    this.agent = visible(agent ?? '') || this.agent;
    if (elsewhere) {
      if (state === 'working') this.#missed.elsewhere([cell], hasBegun);
    } else if (state === 'working') {
      this.#askingCell = cell && (cell === this.#claimed || this.document.isRunning(cell)) ? cell : undefined;
      if (this.#askingCell) { // else it has begun before the page was loaded
        this.#missed.began(this.#askingCell);
        this.#listener.turnBegan(this);
      }
    } else {
      this.document.endRuns();
      this.#listener.turnEnded(this, { seconds, cells, cell: this.#askingCell });
    }
    this.#listener.changed(this);
  }

  /** @param {Menu} menu */
  #onMenu(menu) {
    this.menu = menu;
    this.agent = visible(menu.agent) || this.agent;
    this.#listener.changed(this);
  }

  /** @param {string} words */
  #onStanding(words) {
    this.standing = words;
    this.#listener.changed(this);
  }

  /** @param {Record<string, any>} event */
  #onQuestions({ waiting, answered, agent, elsewhere = false }) {
    this.waiting = waiting ?? [];
    this.answered = answered ?? {};
    this.elsewhere = elsewhere;
    this.agent = visible(agent ?? '') || this.agent;
    this.#listener.changed(this);
  }

  /** @param {Ask} ask */
  #onAsk(ask) {
    this.asks.set(ask.key, ask);
    this.#listener.changed(this);
  }

  /** @param {string} key */
  #onAnswered(key) {
    if (this.asks.delete(key)) this.#listener.changed(this);
  }

  /** @param {string} key @param {string} words */
  #onRefused(key, words) {
    const ask = this.asks.get(key);
    if (ask) this.#listener.refused(ask, words);
  }
}

/**
 * Who hears of connections.
 * @typedef {object} Listener
 * @property {(connection: Connection) => void} changed Its state or its questions.
 * @property {(connection: Connection) => void} turnBegan In this page.
 * @property {(connection: Connection, turn: EndedTurn) => void} turnEnded
 * @property {(words: string, failed: boolean) => void} done What was chosen in the menu.
 * @property {(ask: Ask, words: string) => void} refused The answer to a question does not count, and why.
 */

/** The connections of all notebooks of the page. */
export class Connections {
  /** @type {Map<NotebookPanel, Connection>} */
  #connections = new Map();
  #app;
  #tracker;
  #listener;
  #notes = new Notes();
  #actions;
  /** @type {WeakMap<NotebookPanel, NotebookDocument>} */
  #documents = new WeakMap();
  /** Notebooks whose connection to the kernel was lost since they have connected. @type {WeakSet<NotebookPanel>} */
  #lost = new WeakSet();
  /** @type {WeakSet<Kernel>} */
  #greeted = new WeakSet();

  /**
   * @param {import('@jupyterlab/application').JupyterFrontEnd} app @param {INotebookTracker} tracker
   * @param {Listener} listener @param {typeof import('@jupyterlab/notebook').NotebookActions} actions
   */
  constructor(app, tracker, listener, actions) {
    this.#app = app;
    this.#tracker = tracker;
    this.#listener = listener;
    this.#actions = actions;
    tracker.widgetAdded.connect((_, panel) => this.#watch(panel));
    tracker.forEach(panel => this.#watch(panel));
    actions.executionScheduled.connect((_, scheduled) => {
      markLive(scheduled);
      this.#notes.add(scheduled);
    });
    const look = () => document.hidden || this.all().forEach(connection => connection.look());
    document.addEventListener('visibilitychange', look);
    window.addEventListener('focus', look); // of two windows side by side, neither is hidden
    window.addEventListener('pagehide', () => this.all().forEach(connection => connection.leave()));
  }

  /** @param {NotebookPanel | null} panel */
  of(panel) {
    return panel ? this.#connections.get(panel) : undefined;
  }

  /** Also of a notebook whose kernel has reported nothing. @param {NotebookPanel} panel */
  documentOf(panel) {
    const document = this.#documents.get(panel) ?? new NotebookDocument(panel, this.#actions);
    this.#documents.set(panel, document);
    return document;
  }

  all() {
    return [...this.#connections.values()];
  }

  /** @param {NotebookPanel} panel */
  #watch(panel) {
    const { sessionContext } = panel;
    const register = () =>
      sessionContext.session?.kernel?.registerCommTarget(TARGET, (comm, message) => this.#open(panel, comm, message));
    register();
    sessionContext.kernelChanged.connect(() => {
      this.#end(panel);
      register();
      void this.#ask(panel); // its connection may be up already
    });
    sessionContext.statusChanged.connect((_, status) => {
      if (LOST.includes(status)) this.#end(panel);
    });
    sessionContext.connectionStatusChanged.connect((_, status) => {
      if (status === 'connected') void this.#ask(panel);
      else this.#lost.add(panel);
    });
    void this.#ask(panel);
    panel.disposed.connect(() => {
      this.of(panel)?.leave();
      this.#end(panel);
    });
  }

  /** Ask the kernel what this page has missed. Nothing is sent unless the notebook has prompts. @param {NotebookPanel} panel */
  async #ask(panel) {
    await Promise.all([panel.context.ready, this.#app.serviceManager.kernelspecs.ready]);
    const kernel = panel.sessionContext.session?.kernel;
    const language = languageOf(this.#app, panel);
    if (kernel?.connectionStatus !== 'connected' || !hasPrompts(panel.content, language)) return;
    const before = this.of(panel);
    if (before && !this.#lost.has(panel)) return; // it has missed nothing
    const { content } = await kernel.requestCommInfo({ target_name: TARGET });
    const isConnected = this.of(panel) !== before; // the kernel has opened a comm meanwhile
    if (isConnected || panel.isDisposed || kernel.isDisposed || content.status !== 'ok') return;
    if (!Object.keys(content.comms).length) {
      markLost(panel, language, []);
      if (language !== 'copilot') return; // in Python, the kernel begins
    }
    // Of the notebooks of a page that share a kernel, only the first one has comms.
    const isCarrier = (/** @type {Kernel | null | undefined} */ each) => each?.id === kernel.id && each.handleComms;
    const carrier = this.#tracker.find(each => isCarrier(each.sessionContext.session?.kernel));
    const comm = carrier?.sessionContext.session?.kernel?.createComm(TARGET);
    if (comm) this.#connect(panel, kernel, comm, hello => comm.open(hello)).isOpening = true;
  }

  /**
   * Everyone who is connected to the kernel hears this. Only the page that runs the cell answers; the connection that
   * carries the comm may be another notebook's of this page. Other pages now know that there is something to ask for.
   * @param {NotebookPanel} hearer @param {Comm} comm @param {CommOpen} message
   */
  #open(hearer, comm, message) {
    const { session = '' } = /** @type {{session?: string}} */ (message.parent_header);
    const panel = this.#tracker.find(each => each.sessionContext.session?.kernel?.clientId === session);
    const kernel = panel?.sessionContext.session?.kernel;
    if (!kernel) {
      if (!this.of(hearer)) void this.#ask(hearer);
    } else if (!this.of(panel)?.isOpening) { // else the kernel takes the page's comm as the answer to its own
      this.#connect(panel, kernel, comm, hello => comm.send(hello));
    }
  }

  /** @param {NotebookPanel} panel @param {Kernel} kernel @param {Comm} comm @param {(hello: Record<string, any>) => void} greet */
  #connect(panel, kernel, comm, greet) {
    this.#end(panel);
    this.#lost.delete(panel);
    const channel = channelOf(comm);
    const connection = new Connection(this.documentOf(panel), panel, channel, this.#app, this.#listener, this.#notes);
    this.#connections.set(panel, connection);
    channel.receive(data => connection.receive(data), () => {
      if (this.of(panel) === connection) this.#end(panel);
    });
    const { name, version } = this.#app;
    const { clientId: session, handleComms: widgets } = kernel; // where there are no comms, there are no widgets
    // Fresh: the page has received all that it has run, for its connection to the kernel is the first.
    greet({ hello: VERSION, session, path: connection.path, app: name, version, widgets, fresh: !this.#greeted.has(kernel) });
    this.#greeted.add(kernel);
    this.#listener.changed(connection);
    return connection;
  }

  /** @param {NotebookPanel} panel */
  #end(panel) {
    const connection = this.#connections.get(panel);
    this.#connections.delete(panel);
    connection?.end();
  }
}
