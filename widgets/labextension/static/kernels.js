// @ts-check

/**
 * @typedef {import('@jupyterlab/application').JupyterFrontEnd} JupyterFrontEnd
 * @typedef {import('@jupyterlab/notebook').NotebookPanel} NotebookPanel
 */

/** The language of a notebook's kernel: `copilot` for ours. @param {JupyterFrontEnd} app @param {NotebookPanel} panel */
export function languageOf(app, panel) {
  const name = panel.sessionContext.session?.kernel?.name ?? '';
  return app.serviceManager.kernelspecs.specs?.kernelspecs[name]?.language ?? '';
}

/** The name of a kernel whose cells are prompts, if one is installed. @param {JupyterFrontEnd} app */
export function copilotKernel(app) {
  const specs = Object.values(app.serviceManager.kernelspecs.specs?.kernelspecs ?? {});
  return specs.find(spec => spec?.language === 'copilot')?.name;
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
 * Mark the notebooks whose cells are prompts, for the style sheet.
 * @param {JupyterFrontEnd} app @param {import('@jupyterlab/notebook').INotebookTracker} tracker
 */
export function markCopilotNotebooks(app, tracker) {
  /** @param {NotebookPanel} panel */
  const mark = panel => panel.content.node.classList.toggle('copilot-notebook', languageOf(app, panel) === 'copilot');
  /** @param {NotebookPanel} panel */
  const watch = panel => {
    panel.sessionContext.kernelChanged.connect(() => mark(panel));
    mark(panel);
  };
  tracker.widgetAdded.connect((_, panel) => watch(panel));
  tracker.forEach(watch);
  app.serviceManager.kernelspecs.specsChanged.connect(() => tracker.forEach(mark));
}
