// Sources that are opened on the page: pasted text and files, sent to the inspector.

import { byId } from './dom.mjs';

/**
 * @param {import('./connection.mjs').Connection} connection
 * @param {(text: string) => void} showError
 */
export function listenToSources(connection, showError) {
  async function open(blob, name, add = byId('add').checked) {
    const [format, from] = [byId('format').value, byId('from').value];
    try {
      await connection.upload({ type: 'open', name, size: blob.size, format, from, add }, blob);
      showError('');
      byId('sources').open = false;
    } catch (error) {
      showError(error.message);
    }
  }

  const openText = () => open(new Blob([byId('pasted').value]), 'pasted');

  byId('paste').addEventListener('submit', (event) => {
    event.preventDefault();
    openText();
  });
  byId('pasted').addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) openText();
  });
  byId('files').addEventListener('change', async ({ target }) => {
    // Several files are opened one after the other: they are the records of several ends.
    for (const [i, file] of [...target.files].entries()) await open(file, file.name, i > 0 || undefined);
    target.value = '';
  });
  byId('clear').addEventListener('click', () => connection.send({ type: 'clear' }));
  byId('live').addEventListener('focus', ({ target }) => target.select());
}
