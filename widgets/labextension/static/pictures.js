// @ts-check
// Gives the agent's pictures a text for screen readers: Jupyter shows an image without one.

import { equip } from './outputs.js';

const OURS = /^\[(image\/[^\]]+)\]$/; // how the kernel says it in plain text

/** @param {import('@jupyterlab/notebook').INotebookTracker} tracker */
export function namePictures(tracker) {
  equip(tracker, 'jp-RenderedImage', ({ content }) => element => {
    const cell = content.widgets.find(({ node }) => node.contains(element));
    const { outputArea } = /** @type {import('@jupyterlab/cells').CodeCell} */ (cell);
    const index = outputArea.widgets.findIndex(({ node }) => node.contains(element));
    const about = OURS.exec(String(outputArea.model.get(index)?.data['text/plain']))?.[1];
    const image = element.querySelector('img');
    if (image && about) image.alt = `Picture from the agent: ${about}`;
  });
}
