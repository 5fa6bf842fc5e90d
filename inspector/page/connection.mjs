// The WebSocket to the inspector that has served this page. Nothing else is connected to.

const PART = 1024 * 1024;

export class Connection {
  /** @param {Record<string, (message: object) => void>} handlers by the type of a message */
  constructor(handlers) {
    this._handlers = handlers;
    this._upload = null;
    const token = encodeURIComponent(location.hash.slice(1));
    this._socket = new WebSocket(`ws://${location.host}/page?token=${token}`);
    this._socket.onmessage = ({ data }) => this._receive(JSON.parse(data));
    this._socket.onclose = ({ code }) => {
      this._upload?.reject(new Error('The inspector is gone'));
      handlers.closed({ code });
    };
  }

  send(message) {
    if (this._socket.readyState === WebSocket.OPEN) this._socket.send(JSON.stringify(message));
  }

  /**
   * Sends a source, and waits until the inspector has read it.
   *
   * @throws {Error} that says what is wrong with it
   */
  async upload(source, blob) {
    const done = new Promise((resolve, reject) => {
      this._upload = { resolve, reject };
    });
    done.catch(() => {});
    this.send(source);
    for (let at = 0; at < blob.size && this._upload !== null; at += PART) {
      this._socket.send(await blob.slice(at, at + PART).arrayBuffer());
      while (this._socket.bufferedAmount > 4 * PART) await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await done;
  }

  _receive(message) {
    if (message.type === 'opened') this._endUpload('resolve');
    else if (message.type === 'error') this._endUpload('reject', new Error(message.text));
    else this._handlers[message.type]?.(message);
  }

  _endUpload(how, value) {
    const upload = this._upload;
    this._upload = null;
    upload?.[how](value);
  }
}
