// The WebSocket to the inspector that has served this page. Nothing else is connected to.

const PART = 2 * 1024 * 1024;

export const CLOSED =
  'The connection to the inspector is closed. Is it still running? Open the URL that it has printed.';

export class Connection {
  /** @param {Record<string, Function>} handlers by the type of a message */
  constructor(handlers) {
    this._handlers = handlers;
    this._upload = null;
    this._uploads = Promise.resolve();
    const token = encodeURIComponent(location.hash.slice(1).split('&')[0]);
    this._socket = new WebSocket(`ws://${location.host}/page?token=${token}`);
    this._socket.onmessage = ({ data }) => this._receive(JSON.parse(data));
    this._socket.onclose = ({ code }) => {
      this._endUpload('reject', new Error(CLOSED));
      handlers.closed({ code });
    };
  }

  send(message) {
    if (this._socket.readyState === WebSocket.OPEN) this._socket.send(JSON.stringify(message));
  }

  /**
   * Sends a source after those before it, and waits until the inspector has read it. An error's `at` is the
   * index of the character at fault, or null.
   */
  upload(source, blob, onProgress) {
    const sent = this._uploads.then(() => this._sendSource(source, blob, onProgress));
    this._uploads = sent.catch(() => {});
    return sent;
  }

  async _sendSource(source, blob, onProgress) {
    if (this._socket.readyState !== WebSocket.OPEN) throw new Error(CLOSED);
    const done = new Promise((resolve, reject) => {
      this._upload = { resolve, reject };
    });
    done.catch(() => {});
    this.send(source);
    for (let at = 0; at < blob.size && this._upload !== null; at += PART) {
      const part = await blob.slice(at, at + PART).arrayBuffer();
      if (this._upload === null || this._socket.readyState !== WebSocket.OPEN) break;
      this._socket.send(part);
      if (blob.size > PART) onProgress({ part: at / blob.size });
      // What a closed socket holds never gets less.
      while (this._upload !== null && this._socket.bufferedAmount > 4 * PART) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
    await done;
  }

  _receive(message) {
    if (message.type === 'opened') this._endUpload('resolve');
    else if (message.type === 'error') this._endUpload('reject', Object.assign(new Error(message.text), message));
    else this._handlers[message.type](message);
  }

  _endUpload(how, value) {
    const upload = this._upload;
    this._upload = null;
    upload?.[how](value);
  }
}
