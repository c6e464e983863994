// @ts-check

const DOCUMENTS = '@jupyterlab/docmanager-extension:plugin';

/** The user's settings, as the schema describes them, and whether JupyterLab saves by itself. */
export class Settings {
  notifyQuestions = true;
  notifyTurns = false;
  longTurn = 30;
  autosave = false;

  /** @param {import('@jupyterlab/settingregistry').ISettingRegistry} registry @param {string} plugin */
  async follow(registry, plugin) {
    const loaded = await registry.load(plugin);
    const read = () => {
      this.notifyQuestions = loaded.get('notifyQuestions').composite !== false;
      this.notifyTurns = loaded.get('notifyTurns').composite === true;
      this.longTurn = Number(loaded.get('longTurn').composite ?? 30);
    };
    loaded.changed.connect(read);
    read();
    const documents = await registry.load(DOCUMENTS);
    const readAutosave = () => { this.autosave = documents.get('autosave').composite === true; };
    documents.changed.connect(readAutosave);
    readAutosave();
  }
}
