'use strict';

// The verdict on each frame of one direction. It is always framemask's Decoder that judges.

const { Decoder } = require('./framemask');
const { ruleOf } = require('./rfc');

const MAX_TEXT = 200;

/** The states of a frame. The page shows the word. */
const State = { GOOD: 0, BAD: 1, UNREAD: 2, INCOMPLETE: 3 };

const textOf = (value) => (typeof value === 'string' ? value.slice(0, MAX_TEXT) : '');
const numberOf = (value) => (typeof value === 'number' ? value : Number.NaN);

/**
 * @typedef {{ code: string, closeCode: number, message: string,
 *   rule: { rfc: number, section: string, sentence: string } | null }} Fault
 */

/** @returns {Fault} from a FrameError, or from one in JSON, whose fields may be anything */
function faultOf({ code, closeCode, message, receivedCode }) {
  return {
    code: textOf(code),
    closeCode: numberOf(closeCode),
    message: textOf(message),
    rule: ruleOf({ code: textOf(code), receivedCode: numberOf(receivedCode) })
  };
}

/** Judges the frames that one end has sent, in their order. */
class Judge {
  /** @param {import('framemask').NegotiatedDeflate | null} [deflate] of the handshake */
  constructor(from, deflate = null) {
    this._fault = null;
    this._message = null;
    this._decoder = new Decoder({
      role: from === 'client' ? 'server' : 'client',
      text: 'buffer',
      deflate,
      onMessage: (data) => {
        this._message = data;
      },
      onError: (error) => {
        this._fault = faultOf(error);
      }
    });
  }

  /**
   * @param {import('./parse-frames').ParsedFrame} frame the next one
   * @returns {{ state: number, fault: Fault | null, message: Buffer | null }} `message` is the one
   *   that the frame ends, inflated if it was compressed
   */
  judge(frame) {
    if (this._decoder.closed) return { state: State.UNREAD, fault: null, message: null };
    this._message = null;
    // The Decoder unmasks in place.
    this._decoder.write(Buffer.from(frame.bytes));
    const good = frame.complete ? State.GOOD : State.INCOMPLETE;
    return { state: this._fault === null ? good : State.BAD, fault: this._fault, message: this._message };
  }
}

module.exports = { Judge, State, faultOf, textOf };
