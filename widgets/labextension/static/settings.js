// @ts-check

/** The user's settings, as the schema describes them. */
export class Settings {
  notifyQuestions = true;
  notifyTurns = false;
  longTurn = 30;

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
  }
}
