// @ts-check
// Prompts look like prompts: Markdown instead of code. The style sheet does the rest; nothing of it is saved.

import { equipCard } from './cards.js';
import { followLanguages } from './kernels.js';
import { button } from './outputs.js';
import { isPrompt } from './prompts.js';

/**
 * @typedef {import('@jupyterlab/notebook').NotebookPanel} NotebookPanel
 * @typedef {import('@jupyterlab/cells').Cell} Cell
 */

const SUGGESTING = 'copilot-suggestions';
const SUGGESTIONS = ['Explain what this project does', 'Find a bug and fix it', 'Make a plan for a new feature'];
const ABSENT = 'copilot-absent';
const MARKDOWN = 'text/x-ipythongfm'; // as in Markdown cells

/**
 * In Copilot notebooks all cells but commands, elsewhere those that begin with `%%copilot`, as long as they do.
 * @param {import('@jupyterlab/application').JupyterFrontEnd} app
 * @param {import('@jupyterlab/notebook').INotebookTracker} tracker
 */
export function markPrompts(app, tracker) {
  /** @type {WeakMap<NotebookPanel, string>} */
  const languages = new WeakMap();
  /** @type {WeakSet<Cell>} */
  const followed = new WeakSet();
  /** @param {NotebookPanel} panel @param {Cell} cell */
  const mark = ({ content }, cell, language = '') => {
    const { model, node } = cell;
    const prompts = isPrompt(model.sharedModel.getSource(), language);
    const mimeType = prompts ? MARKDOWN : content.codeMimetype;
    node.classList.toggle('copilot-prompt', prompts);
    if (model.mimeType !== mimeType) model.mimeType = mimeType;
  };
  /** Show the card for a missing agent instead of the suggestions. @param {NotebookPanel} panel @param {Element} place */
  const check = async (panel, place) => {
    await panel.sessionContext.ready;
    const { session } = panel.sessionContext;
    const reply = await session?.kernel?.requestInspect({ code: '', cursor_pos: 0, detail_level: 0 }).catch(() => undefined); // it has ended
    const data = reply?.content.status === 'ok' && reply.content.found ? reply.content.data : undefined;
    const { rendermime } = panel.content;
    const body = rendermime.createRenderer('text/html');
    if (data) await body.renderModel(rendermime.createModel({ data, trusted: false }));
    place.querySelector(`.${ABSENT}`)?.remove();
    const card = body.node.firstElementChild;
    if (!card) return;
    body.addClass(ABSENT);
    equipCard(app, panel, card);
    place.append(body.node);
  };
  /** @param {NotebookPanel} panel */
  const suggest = panel => {
    const { content, node } = panel;
    const [cell, ...others] = content.widgets;
    const isEmpty = cell?.model.type === 'code' && !others.length && !cell.model.sharedModel.getSource();
    const shown = node.querySelector(`.${SUGGESTING}`);
    if (!isEmpty) shown?.remove();
    if (!isEmpty || !content.hasClass('copilot-notebook')) return;
    void check(panel, shown ?? cell.node.appendChild(suggestions(cell)));
  };
  /** @param {NotebookPanel} panel */
  const markAll = panel => {
    suggest(panel);
    for (const cell of panel.content.widgets.filter(({ model }) => model.type === 'code')) {
      const again = () => {
        mark(panel, cell, languages.get(panel));
        suggest(panel);
      };
      again();
      if (followed.has(cell)) continue;
      followed.add(cell);
      cell.model.contentChanged.connect(again);
      cell.model.mimeTypeChanged.connect(again); // JupyterLab sets that of the kernel whenever it learns of it
    }
  };
  followLanguages(app, tracker, (panel, language) => {
    if (!languages.has(panel)) panel.content.model?.cells.changed.connect(() => markAll(panel));
    languages.set(panel, language);
    panel.content.node.classList.toggle('copilot-notebook', language === 'copilot');
    markAll(panel);
  });
}

/** @param {Cell} cell */
function suggestions(cell) {
  const place = document.createElement('div');
  place.className = SUGGESTING;
  const about = document.createElement('p');
  about.textContent = 'The agent reads and changes files and runs commands, and asks you first. For example:';
  place.append(about);
  for (const words of SUGGESTIONS) {
    place.append(button(words, () => {
      cell.model.sharedModel.setSource(words);
      cell.editor?.focus();
    }));
  }
  return place;
}
