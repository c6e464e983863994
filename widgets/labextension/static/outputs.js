// @ts-check
// Adds buttons to what outputs show: only on the page, never in the notebook.

/**
 * @typedef {import('@jupyterlab/notebook').NotebookPanel} NotebookPanel
 * @typedef {import('@jupyterlab/notebook').INotebookTracker} INotebookTracker
 */

/**
 * Equip each element of a class in outputs; again when it is drawn anew, as outputs are when they grow. Only where the
 * cell ran in this page, which clears it: a saved output may be anybody's.
 * @param {INotebookTracker} tracker @param {string} className
 * @param {(panel: NotebookPanel) => (element: Element) => void} toEquip What equips the elements of one notebook.
 */
export function equip(tracker, className, toEquip) {
  /** @param {NotebookPanel} panel */
  const watch = panel => {
    const { content } = panel;
    /** @param {Element} element */
    const hasArrived = element => content.widgets.some(cell => {
      const { outputArea } = /** @type {import('@jupyterlab/cells').CodeCell} */ (cell);
      return cell.model.type === 'code' && outputArea.future && outputArea.node.contains(element);
    });
    const equipOne = toEquip(panel);
    /** What is new alone: a long answer has thousands. @param {Node} added */
    const equipIn = added => {
      if (!(added instanceof Element)) return;
      const found = [...added.getElementsByClassName(className), ...(added.classList.contains(className) ? [added] : [])];
      found.filter(hasArrived).forEach(equipOne);
    };
    const observer = new MutationObserver(changes => changes.forEach(({ addedNodes }) => addedNodes.forEach(equipIn)));
    observer.observe(content.node, { childList: true, subtree: true });
    panel.disposed.connect(() => observer.disconnect());
    equipIn(content.node);
  };
  tracker.widgetAdded.connect((_, panel) => watch(panel));
  tracker.forEach(watch);
}

/** @param {string} label @param {() => void} act */
export function button(label, act) {
  const made = document.createElement('button');
  made.type = 'button';
  made.textContent = label;
  made.addEventListener('click', act);
  return made;
}
