// A client of the chat, for pages and for Node.js. It connects again when the connection is lost,
// to the next server if there are several; it gets what it has missed, and sends again what was not
// acknowledged.

/** Messages that may be on their way at once; the others wait for acknowledgements. */
const WINDOW = 10;
/** Milliseconds. */
const FIRST_DELAY = 200;
const LONGEST_DELAY = 10_000;
/** Close codes for a fault of ours: the same would come again. */
const FAULTS = new Set([1002, 1003, 1007, 1008, 1009]);

/** A secret that names this client to the server, also when it comes back. */
function createSession() {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export class ChatClient {
  /**
   * @param {string[]} options.urls servers
   * @param {(message: object) => void} [options.onMessage] called with each message of a room once,
   *   in the same order for all members: `{ id, room, from, name, n, text }`
   * @param {(status: 'connected' | 'waiting' | 'refused' | 'closed', reason: string) => void}
   *   [options.onStatus] 'refused': it does not connect again
   * @param {(room: string, complete: boolean) => void} [options.onJoined] `complete` is false if
   *   messages are missing, because the client was away for too long
   * @param {(n: number) => void} [options.onSent] the message `n` was published
   * @param {(room: string, count: number, members: object[]) => void} [options.onMembers] those in
   *   a room, `{ from, name }`, or the first of them, when they change
   */
  constructor({ urls, name, WebSocket = globalThis.WebSocket, ...handlers }) {
    this.name = name;
    this.from = null;
    /** How often it has connected. */
    this.connections = 0;
    this._handlers = handlers;
    this._WebSocket = WebSocket;
    this._session = createSession();
    this._urls = urls;
    this._attempt = 0;
    this._next = 0;
    /** Room → the id of the last message that it has; undefined before it has joined. */
    this._rooms = new Map();
    /** Number → the message, until it is acknowledged. */
    this._unacknowledged = new Map();
    this._count = 0;
    this._lastSent = 0;
    this._inFlight = 0;
    this._timer = null;
    this._isEnded = false;
    this._connect();
  }

  join(room) {
    if (this._rooms.has(room)) return;
    this._rooms.set(room, undefined);
    if (this._isOpen) this._send({ type: 'join', room });
  }

  /** Leaves a room. Messages for it that were not sent yet are dropped. */
  leave(room) {
    if (!this._rooms.delete(room)) return;
    // The server refuses a client that speaks in a room that it is not in, also when it comes back.
    for (const [n, message] of this._unacknowledged) if (message.room === room) this._unacknowledged.delete(n);
    if (this._isOpen) this._send({ type: 'leave', room });
  }

  /** @returns {number} the number of the message, as in `onSent` */
  say(room, text) {
    const n = ++this._count;
    this._unacknowledged.set(n, { type: 'say', room, n, text });
    this._sendMore();
    return n;
  }

  close() {
    this._isEnded = true;
    clearTimeout(this._timer);
    this._socket.close(1000);
  }

  get _isOpen() {
    return this._socket.readyState === 1;
  }

  _send(message) {
    this._socket.send(JSON.stringify(message));
  }

  _connect() {
    const socket = new this._WebSocket(this._urls[this._next % this._urls.length]);
    this._socket = socket;
    socket.onopen = () => this._open();
    socket.onmessage = ({ data }) => this._receive(JSON.parse(data));
    socket.onerror = () => {}; // 'close' follows
    socket.onclose = ({ code, reason }) => this._closed(code, reason);
  }

  _open() {
    this.connections++;
    this._lastSent = 0;
    this._inFlight = 0;
    this._send({ type: 'hello', name: this.name, session: this._session });
    for (const [room, since] of this._rooms) this._send({ type: 'join', room, since });
    this._sendMore();
    this._handlers.onStatus?.('connected', '');
  }

  /** Sends what has not been sent on this connection, as far as the window allows. */
  _sendMore() {
    if (!this._isOpen) return;
    for (const [n, message] of this._unacknowledged) {
      if (this._inFlight >= WINDOW) return;
      if (n <= this._lastSent) continue;
      this._lastSent = n;
      this._inFlight++;
      this._send(message);
    }
  }

  _receive(message) {
    if (this._isEnded) return; // it came before the other end closed, too
    const { type, room } = message;
    if (type === 'message') {
      if (!this._rooms.has(room)) return; // it came while we left
      this._rooms.set(room, message.id);
      this._handlers.onMessage?.(message);
    } else if (type === 'sent') {
      this._inFlight--;
      this._unacknowledged.delete(message.n);
      this._sendMore();
      this._handlers.onSent?.(message.n);
    } else if (type === 'joined') {
      this._attempt = 0;
      // From here on nothing is missing, also if nobody has said anything yet.
      if (this._rooms.has(room)) this._rooms.set(room, message.at);
      this._handlers.onJoined?.(room, message.complete);
    } else if (type === 'members') {
      if (this._rooms.has(room)) this._handlers.onMembers?.(room, message.count, message.members);
    } else if (type === 'welcome') {
      this.from = message.from;
    }
  }

  _closed(code, reason) {
    if (this._isEnded || FAULTS.has(code)) {
      this._handlers.onStatus?.(this._isEnded ? 'closed' : 'refused', reason);
      this._isEnded = true;
      return;
    }
    this._handlers.onStatus?.('waiting', reason);
    // Random, so that the clients of a server that ends do not all come back at the same time.
    const delay = Math.min(FIRST_DELAY * 2 ** this._attempt++, LONGEST_DELAY);
    this._next++;
    this._timer = setTimeout(() => this._connect(), delay * (0.5 + Math.random()));
  }
}
