// What is opened on the page: pasted text and files, sent to the inspector.

import { byId } from './dom.mjs';

export class Sources {
  /**
   * @param {import('./connection.mjs').Connection} connection
   * @param {(text: string) => void} onError
   */
  constructor(connection, onError) {
    this._connection = connection;
    this._onError = onError;
    byId('paste').addEventListener('submit', (event) => {
      event.preventDefault();
      this._openText();
    });
    byId('pasted').addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this._openText();
    });
    byId('files').addEventListener('change', () => this._openFiles());
    byId('clear').addEventListener('click', () => connection.send({ type: 'clear' }));
    byId('live').addEventListener('focus', () => byId('live').select());
  }

  _openText() {
    const bytes = new TextEncoder().encode(byId('pasted').value);
    this._open(new Blob([bytes]), 'pasted');
  }

  /** Several files are opened one after the other: they are the records of several ends. */
  async _openFiles() {
    const input = byId('files');
    const files = [...input.files];
    for (const [i, file] of files.entries()) await this._open(file, file.name, i > 0);
    input.value = '';
  }

  async _open(blob, name, add = false) {
    const source = {
      type: 'open',
      name,
      size: blob.size,
      kind: 'auto',
      format: byId('format').value,
      from: byId('from').value,
      add: add || byId('add').checked
    };
    try {
      await this._connection.upload(source, blob);
      this._onError('');
      byId('sources').open = false;
    } catch (error) {
      this._onError(error.message);
    }
  }
}
