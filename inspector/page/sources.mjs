// Sources that are opened on the page: pasted text and files, sent to the inspector.

import { byId, showText } from './dom.mjs';

/** Enough for most messages to be inflated, and shown as JSON. */
const PAYLOAD = 'FRAMEMASK_INSPECTOR_PAYLOAD=65536 ';

const DONE = 'Copied';

/** @param {string} text why something did not work; '' if it did */
export const showError = (text) => showText('error', text);

/** @param {{ part: number | null }} progress from 0 to 1; null at the end */
export function showProgress({ part }) {
  byId('progress').hidden = part === null;
  // At first it is not known.
  if (part) byId('progress').value = part;
  else byId('progress').removeAttribute('value');
}

/** Puts a text on the clipboard; the button that asked says so until one leaves it. */
export async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch (error) {
    showError(`The browser did not copy: ${error.message}`);
    return;
  }
  const before = button.textContent;
  if (before === DONE) return;
  button.textContent = DONE;
  for (const type of ['blur', 'pointerleave']) {
    button.addEventListener(type, () => button.replaceChildren(before), { once: true });
  }
}

/**
 * @param {import('./connection.mjs').Connection} connection
 * @param {(request: object) => Promise<unknown>} ask the same as its `ask`, but shows errors
 */
export function listenToSources(connection, ask) {
  const pasted = byId('pasted');

  let opened = Promise.resolve();

  /** Opens a source after those before it. */
  function open(body, name, add = byId('add').checked) {
    const [format, from] = [byId('format').value, byId('from').value];
    opened = opened.then(async () => {
      showProgress({ part: 0 });
      try {
        await body.slice(0, 1).arrayBuffer(); // a folder has no bytes
        await connection.ask({ type: 'open', name, format, from, add }, { body });
        showError('');
        byId('sources').open = false;
      } catch ({ message, at }) {
        showError(message);
        if (name === 'pasted' && at !== undefined) {
          pasted.focus();
          pasted.setSelectionRange(at, at + 1);
        }
      }
      showProgress({ part: null });
    });
    return opened;
  }

  /** Several files are opened one by one: records of several ends, or a capture and its keys. */
  async function openFiles(files) {
    for (const [i, file] of [...files].entries()) await open(file, file.name, i > 0 || undefined);
  }

  const openText = () => open(new Blob([pasted.value]), 'pasted');

  byId('paste').addEventListener('submit', (event) => {
    event.preventDefault();
    openText();
  });
  pasted.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) openText();
  });
  byId('files').addEventListener('change', async ({ target }) => {
    await openFiles(target.files);
    target.value = '';
  });
  for (const type of ['dragover', 'dragleave', 'drop']) {
    document.addEventListener(type, (event) => {
      if (!event.dataTransfer.types.includes('Files')) return; // a text goes into the field that it is dropped on
      event.preventDefault();
      document.body.classList.toggle('dropping', type === 'dragover');
      if (type === 'drop') openFiles(event.dataTransfer.files);
    });
  }
  byId('sample').addEventListener('click', () => ask({ type: 'sample' }));
  byId('clear').addEventListener('click', () => ask({ type: 'clear' }));
  byId('live-payload').addEventListener('change', ({ target }) => {
    const command = byId('live').value.replace(PAYLOAD, '');
    byId('live').value = target.checked ? `${PAYLOAD}${command}` : command;
  });
  byId('live').addEventListener('focus', ({ target }) => target.select());
  byId('copy-live').addEventListener('click', ({ target }) => copy(byId('live').value, target));
}
