// The inspector that has served this page: a WebSocket brings the rows, requests ask for the rest.
// Nothing else is connected to.

export const CLOSED =
  'The connection to the inspector is closed. Is it still running? Open the URL that it has printed.';

const token = encodeURIComponent(location.hash.slice(1).split('&')[0]);

export class Connection {
  /** @param {Record<string, Function>} handlers by the type of a message */
  constructor(handlers) {
    this._socket = new WebSocket(`ws://${location.host}/page?token=${token}`);
    this._socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      handlers[message.type](message);
    };
    this._socket.onclose = () => handlers.closed();
  }

  /**
   * @param {object} request as lib/page-requests.js knows them
   * @param {{ body?: Blob | string, signal?: AbortSignal }} [options] `body` is that of a source,
   *   for example
   * @returns the answer, a file as a Blob
   * @throws {Error} from the inspector; `at` is the index of the character at fault, if there is
   *   one
   */
  async ask(request, { body = '', signal } = {}) {
    if (this._socket.readyState !== WebSocket.OPEN) throw new Error(CLOSED);
    const sent = new Blob([JSON.stringify(request), '\n', body]);
    const response = await fetch(`page?token=${token}`, { method: 'POST', body: sent, signal }).catch(() => {
      throw new Error(CLOSED);
    });
    if (response.headers.get('Content-Type') !== 'application/json') return response.blob();
    const { answer, error, at } = await response.json();
    if (error !== undefined) throw Object.assign(new Error(error), { at });
    return answer;
  }
}
