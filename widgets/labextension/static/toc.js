// @ts-check
// The table of contents of a Copilot notebook leaves outputs out. Whenever a notebook rests for 0.2 s, JupyterLab
// sanitizes and parses the whole output of each changed cell to find headings, and those of answers are not listed.

import { followLanguages } from './kernels.js';

/**
 * Python notebooks keep their headings, and nothing is saved: where the user turns *Show output headings* on, it stays on.
 * @param {import('@jupyterlab/application').JupyterFrontEnd} app
 * @param {import('@jupyterlab/notebook').INotebookTracker} tracker
 * @param {import('@jupyterlab/toc').ITableOfContentsTracker} contents
 */
export function leaveOutOutputs(app, tracker, contents) {
  /** What was chosen before. @type {WeakMap<object, boolean>} */
  const chosen = new WeakMap();
  /** @param {import('@jupyterlab/notebook').NotebookPanel} panel @param {string} language */
  const update = (panel, language) => {
    const model = contents.get(panel);
    if (!model) return;
    if (language === 'copilot' && !chosen.has(model)) {
      chosen.set(model, model.configuration.includeOutput);
      model.setConfiguration({ includeOutput: false });
    } else if (language && language !== 'copilot' && chosen.has(model)) {
      model.setConfiguration({ includeOutput: chosen.get(model) });
      chosen.delete(model);
    }
  };
  const follow = followLanguages(app, tracker, update);
  // The model is made when its notebook comes to the front, by others who are informed of that at the same time.
  tracker.currentChanged.connect(() => setTimeout(follow));
  void app.restored.then(follow);
}
