// @ts-check
// The module federation container that JupyterLab loads, as a bundler would write it. It takes the page's own copies of
// the shared packages, so that nothing has to be built.
(() => {
  const NAME = 'copilot-kernel';
  const SHARED = {
    notebook: '@jupyterlab/notebook',
    apputils: '@jupyterlab/apputils',
    settings: '@jupyterlab/settingregistry',
    ui: '@jupyterlab/ui-components',
    widgets: '@lumino/widgets',
    signaling: '@lumino/signaling',
    statusbar: '@jupyterlab/statusbar', // Notebook 7 has none
    toc: '@jupyterlab/toc',
  };
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);

  /** @type {Record<string, Record<string, {get: () => Promise<() => unknown>, loaded?: number | boolean}>>} */
  let scope = {};

  /** The rule for singletons: the version that is loaded, else the highest. @param {string} name */
  async function shared(name) {
    const versions = Object.entries(scope[name] ?? {});
    if (!versions.length) return undefined;
    versions.sort(([one], [other]) => one.localeCompare(other, undefined, { numeric: true }));
    const [, chosen] = versions.find(([, { loaded }]) => loaded) ?? versions[versions.length - 1];
    const factory = await chosen.get();
    return factory();
  }

  const container = {
    /** @param {typeof scope} given */
    init(given) {
      scope = given;
    },

    /** @param {string} module */
    async get(module) {
      if (module !== './extension') throw new Error(`${NAME} has no module ${module}`);
      const { plugin } = await import(new URL('plugin.js', script.src).href);
      const packages = await Promise.all(Object.values(SHARED).map(shared));
      const names = Object.keys(SHARED);
      const library = Object.fromEntries(names.map((name, index) => [name, packages[index]]));
      const exported = { __esModule: true, default: plugin(library) };
      return () => exported;
    },
  };

  const page = /** @type {any} */ (window);
  page._JUPYTERLAB ??= {};
  page._JUPYTERLAB[NAME] = container;
})();
