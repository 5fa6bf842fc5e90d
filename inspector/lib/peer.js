'use strict';

// The inspector's end of a WebSocket connection, over framemask: messages of JSON.

const { Decoder, Encoder, frameId } = require('./framemask');

/** The id of all connections of the inspector in this process: live.js leaves their records out. */
const OWN = frameId();

/** A connection whose handshake is done. */
class Peer {
  /** `onMessage` is called with a value of JSON; an error that it throws closes the connection. */
  constructor(socket, { role, maxPayload, onMessage = () => {}, onClose = () => {} }) {
    this._socket = socket;
    this._waiting = [];
    this._encoder = new Encoder({ role, trace: { id: OWN }, writable: socket });
    this._decoder = new Decoder({
      role,
      maxPayload,
      trace: { id: OWN },
      onMessage: (data) => {
        try {
          onMessage(JSON.parse(data));
        } catch (error) {
          this.close(1011, error.message);
        }
      },
      onPing: (payload) => this._encoder.pong(payload),
      onClose: (code) => this.close(code),
      onError: (error) => this.close(error.closeCode)
    });
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      if (!this._decoder.closed) this._decoder.write(chunk);
    });
    socket.on('drain', () => this._release());
    socket.on('end', () => socket.end());
    socket.on('error', () => {}); // 'close' follows
    socket.on('close', () => {
      this._decoder.stop();
      this._release();
      onClose();
    });
  }

  /** Sends a value as JSON. */
  send(value) {
    if (this.isOpen) this._encoder.text(JSON.stringify(value));
  }

  get isOpen() {
    return this._socket.writable && !this._encoder.closed;
  }

  /** The bytes that the other end has not read yet. */
  get queued() {
    return this._socket.writableLength + this._encoder.pending;
  }

  /** @returns {Promise<void>} when the other end has read what was sent, or is gone */
  async drained() {
    if (!this.isOpen) return;
    this._encoder.flush();
    if (!this._socket.writableNeedDrain) return;
    await new Promise((resolve) => this._waiting.push(resolve));
  }

  close(code, reason = '') {
    this._encoder.close(code, reason.slice(0, 30));
    this._encoder.flush();
    this._socket.end();
    this._decoder.stop();
    setTimeout(() => this._socket.destroy(), 2000).unref();
  }

  _release() {
    for (const resolve of this._waiting.splice(0)) resolve();
  }
}

module.exports = { OWN, Peer };
