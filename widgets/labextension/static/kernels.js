// @ts-check

/**
 * @typedef {import('@jupyterlab/application').JupyterFrontEnd} JupyterFrontEnd
 * @typedef {import('@jupyterlab/notebook').NotebookPanel} NotebookPanel
 * @typedef {import('@jupyterlab/notebook').INotebookTracker} INotebookTracker
 */

/**
 * The language of a kernel: `copilot` for ours, whose kernelspec says another one, for VS Code.
 * @param {JupyterFrontEnd} app @param {string} name
 */
function languageOfKernel(app, name) {
  const spec = app.serviceManager.kernelspecs.specs?.kernelspecs[name];
  return spec?.argv.includes('copilot_kernel') ? 'copilot' : spec?.language ?? '';
}

/** The language of a notebook's kernel: `copilot` for ours. @param {JupyterFrontEnd} app @param {NotebookPanel} panel */
export function languageOf(app, panel) {
  return languageOfKernel(app, panel.sessionContext.session?.kernel?.name ?? '');
}

/** The name of a kernel whose cells are prompts, if one is installed. @param {JupyterFrontEnd} app */
export function copilotKernel(app) {
  const names = Object.keys(app.serviceManager.kernelspecs.specs?.kernelspecs ?? {});
  return names.find(name => languageOfKernel(app, name) === 'copilot');
}

/**
 * Load the IPython extension, so that `%copilot` is known in the next cell. Loading it again changes nothing.
 * @param {NotebookPanel} panel
 * @returns {Promise<boolean>} Whether it is loaded.
 */
export async function loadExtension(panel) {
  const kernel = panel.sessionContext.session?.kernel;
  if (!kernel) return false;
  const code = 'get_ipython().extension_manager.load_extension("copilot_kernel")';
  const request = kernel.requestExecute({ code, silent: true, store_history: false, stop_on_error: false });
  const reply = await request.done;
  return reply.content.status === 'ok';
}

/**
 * Call back for each notebook, and again whenever the language of its kernel may be another; until the kernel is known,
 * with the one that the notebook names.
 * @param {JupyterFrontEnd} app @param {INotebookTracker} tracker
 * @param {(panel: NotebookPanel, language: string) => void} callback
 * @returns {() => void} Calls back for all.
 */
export function followLanguages(app, tracker, callback) {
  /** @param {NotebookPanel} panel */
  const named = panel => languageOfKernel(app, panel.context.model.defaultKernelName) || panel.context.model.defaultKernelLanguage;
  /** @param {NotebookPanel} panel */
  const report = panel => callback(panel, languageOf(app, panel) || named(panel));
  /** @param {NotebookPanel} panel */
  const watch = panel => {
    panel.sessionContext.kernelChanged.connect(() => report(panel));
    void panel.context.ready.then(() => report(panel));
    report(panel);
  };
  const reportAll = () => tracker.forEach(report);
  tracker.widgetAdded.connect((_, panel) => watch(panel));
  tracker.forEach(watch);
  app.serviceManager.kernelspecs.specsChanged.connect(reportAll);
  return reportAll;
}
