'use strict';

// The verdict on each frame of one direction. It is always framemask's Decoder that judges.

const { Decoder } = require('./framemask');
const { ruleOf } = require('./rfc');

const MAX_TEXT = 200;

/** What a frame is. The page shows the word. */
const State = { GOOD: 0, BAD: 1, UNREAD: 2, INCOMPLETE: 3 };

/**
 * @typedef {object} Fault
 * @property {string} code of the FrameError
 * @property {number} closeCode
 * @property {string} message
 * @property {{ rfc: number, section: string, sentence: string } | null} rule
 */

const textOf = (value) => (typeof value === 'string' ? value.slice(0, MAX_TEXT) : '');
const numberOf = (value) => (typeof value === 'number' ? value : Number.NaN);

/** @returns {Fault} from a FrameError, or from one that was written as JSON, whose fields may be anything */
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
  /**
   * @param {'client' | 'server'} from the end that sent the frames
   * @param {object} [options]
   * @param {import('framemask').DeflateAgreement | null} [options.deflate] what the handshake agreed on
   * @param {number} [options.maxPayload] @param {number} [options.maxFragments]
   */
  constructor(from, { deflate = null, maxPayload, maxFragments } = {}) {
    this._fault = null;
    this._inflated = null;
    /** How many complete frames the Decoder has delivered. */
    this.delivered = 0;
    /** The index of the frame that ended the Decoder: a bad one, or a Close frame; -1 before. */
    this.endedAt = -1;
    this._count = 0;
    this._decoder = new Decoder({
      role: from === 'client' ? 'server' : 'client',
      text: 'buffer',
      deflate,
      maxPayload,
      maxFragments,
      onFrame: () => {
        this.delivered++;
      },
      onMessage: (data) => {
        this._inflated = data;
      },
      onError: (error) => {
        this._fault = faultOf(error);
      }
    });
  }

  /**
   * @param {import('./parse-frames').ParsedFrame} frame the next one
   * @returns {{ state: number, fault: Fault | null, message: Buffer | null }} `message` is what a
   *   message that the frame ends is, inflated if it was compressed
   */
  judge(frame) {
    const index = this._count++;
    if (this._decoder.closed) return { state: State.UNREAD, fault: null, message: null };
    this._inflated = null;
    // The Decoder unmasks in place.
    this._decoder.write(Buffer.from(frame.bytes));
    if (this._decoder.closed) this.endedAt = index;
    if (this._fault !== null) return { state: State.BAD, fault: this._fault, message: null };
    return { state: frame.complete ? State.GOOD : State.INCOMPLETE, fault: null, message: this._inflated };
  }
}

module.exports = { Judge, State, faultOf, textOf };
