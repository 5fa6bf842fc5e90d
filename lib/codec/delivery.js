'use strict';

const { isUtf8 } = require('../shared/node-modules').buffer;

const { Buffer, view } = require('../shared/buffers');
const { readAgreement } = require('../deflate/agreement');
const { Inflation } = require('../deflate/inflation');
const { toOwn } = require('../deflate/zlib-handle');
const { FIN, MODE_MASKED, MODE_RSV1, NO_STATUS, OPCODE, Opcode, RSV1 } = require('../shared/protocol');
const { isTraced, traceError, traceFrame, traceMessage } = require('../tracing');
const { MessageLimits, detachedFault, findCloseFault, textFault } = require('./message-rules');
const { checkOptions, readBoolean, readChoice, readTrace, readHandler } = require('./options');
const { PartialMessage, isText } = require('./partial-message');
const { decodeText } = require('./utf8');

// States of a decoder.
const RUNNING = 0;
const PAUSED = 1;
const ENDED = 2;
// A message is in zlib's thread pool; and the same while paused.
const INFLATING = 3;
const INFLATING_PAUSED = 4;

/**
 * What a decoder does with frames: it judges them, joins the frames of a message, and calls the
 * handlers. Decoder extends it with the finding of frames, and calls `_refuse` with each header,
 * `_deliverFrame` with each complete frame. Delivery calls `_goOn` of Decoder alone, when a message
 * has been inflated in the thread pool.
 *
 * `bytes[start]` to `bytes[end - 1]` is a payload, unmasked; `ascii` says that it is known to be
 * ASCII; `gathered` that it is in its message already.
 */
class Delivery {
  constructor(options) {
    const masked = readChoice(checkOptions(options, 'Decoder'), 'role', ['server', 'client']) === 'server';
    this._deflate = readAgreement(options);
    const rsv1 = readBoolean(options, 'rsv1', false) || this._deflate !== null;
    this._mode = (masked ? MODE_MASKED : 0) | (rsv1 ? MODE_RSV1 : 0);
    this._onMessage = readHandler(options, 'onMessage');
    this._onPing = readHandler(options, 'onPing');
    this._onPong = readHandler(options, 'onPong');
    this._onClose = readHandler(options, 'onClose');
    this._onError = readHandler(options, 'onError');
    this._onFrame = readHandler(options, 'onFrame');
    this._onInflated = readHandler(options, 'onInflated');
    if ((this._onMessage ?? this._onFrame) === undefined && !warned) warnWithoutHandlers(this);
    this._trace = readTrace(options);
    // For handlers: their `this` is the decoder.
    this.context = options.context;
    const text = readChoice(options, 'text', ['string', 'buffer', 'unchecked'], 'string');
    this._strings = text === 'string';
    this._checked = text !== 'unchecked';
    this._listed = readBoolean(options, 'fragmentLengths', false);
    this._limits = new MessageLimits(options);

    this._state = RUNNING;
    // For tracing: whether there are subscribers, and the number of frames so far.
    this._traced = false;
    this._sequence = 0;
    this._fragmentLengths = undefined;
    // A message of which frames are missing.
    this._message = null;
    // A delivery that `pause` interrupted.
    this._held = null;
    // The contexts of compressed messages, from the first one on.
    this._inflation = null;
  }

  /** What `pause` interrupted comes first. */
  _resumeDelivery() {
    this._traced = isTraced();
    while (this._held !== null && this._state === RUNNING) {
      const deliver = this._held;
      this._held = null;
      deliver();
    }
  }

  /** Judges a frame by its header. Returns true if it was refused: the decoder has ended then. */
  _refuse(firstByte, length) {
    const message = this._message;
    // A message of one frame, as most are, breaks none of the rules if it is short enough.
    if (message === null && (firstByte & OPCODE) !== Opcode.CONTINUATION && length <= this._limits.maxString)
      return false;
    if ((firstByte & OPCODE) >= Opcode.CLOSE) return false;
    const isString = message === null ? this._strings && isText(firstByte) : message.isString;
    const error = this._limits.findFault(message, firstByte, length, isString);
    if (error === null) return false;
    this._failFrame(error, firstByte, length);
    return true;
  }

  _end() {
    this._state = ENDED;
    this._message = null;
    this._held = null;
    this._inflation?.close();
  }

  _failFrame(error, firstByte, length) {
    error.firstByte = firstByte;
    error.length = length;
    this._fail(error);
  }

  /** Ends the decoding, and reports the FrameError that says why. */
  _fail(error) {
    this._end();
    if (this._traced) traceError(this, error);
    if (this._onError === undefined) throw error;
    this._onError(error);
  }

  /** Delivers a complete frame to subscribers, `onFrame`, and the handlers of what it carries. */
  _deliverFrame(firstByte, bytes, start, end, ascii, gathered) {
    // Closures are in a method of their own: V8 allocates what they capture when a method begins.
    if (this._traced || this._onFrame !== undefined) {
      this._showFrame(firstByte, bytes, start, end, ascii, gathered);
    } else {
      this._useFrame(firstByte, bytes, start, end, ascii, gathered);
    }
  }

  _showFrame(firstByte, bytes, start, end, ascii, gathered) {
    const isEmpty = bytes[0] === undefined;
    const use = () => {
      if (!isEmpty && bytes[0] === undefined) this._fail(detachedFault());
      else this._useFrame(firstByte, bytes, start, end, ascii, gathered);
    };
    if (this._traced) traceFrame(this, firstByte, end - start);
    this._unlessPaused(() => {
      // The frame is used even if onFrame throws: nothing is lost.
      try {
        // An empty Buffer is not shown itself: its bytes would not tell that it was transferred.
        this._onFrame?.(firstByte, isEmpty ? Buffer.allocUnsafeSlow(0) : bytes, start, end);
      } finally {
        this._unlessPaused(use);
      }
    });
  }

  /** Delivers: now, on `resume` if the decoder is paused, or never if it has ended. */
  _unlessPaused(deliver) {
    if (this._state === RUNNING) deliver();
    else if (this._state !== ENDED) this._held = deliver;
  }

  /** Delivers what a frame carries, or adds it to its message. */
  _useFrame(firstByte, bytes, start, end, ascii, gathered) {
    if ((firstByte & OPCODE) >= Opcode.CLOSE) {
      const payload = part(bytes, start, end);
      if ((firstByte & OPCODE) === Opcode.CLOSE) this._deliverClose(payload);
      else if ((firstByte & OPCODE) === Opcode.PING) this._onPing?.(payload);
      else this._onPong?.(payload);
    } else if (gathered) {
      this._endFragment(firstByte);
    } else if ((firstByte & FIN) !== 0 && this._message === null) {
      if (isText(firstByte)) this._deliverText(firstByte, bytes, start, end, ascii);
      else this._deliverMessage(part(bytes, start, end), firstByte, end - start, 1);
    } else {
      this._addFragment(firstByte, bytes, start, end, ascii);
    }
  }

  _addFragment(firstByte, bytes, start, end, ascii) {
    const message = this._beginFragment(firstByte);
    const error = message.append(bytes, start, end, (firstByte & FIN) !== 0, ascii);
    if (error === null) this._endFragment(firstByte);
    else this._fail(error);
  }

  /** Begins a data frame whose payload is added to its message, and returns the message. */
  _beginFragment(firstByte) {
    this._message ??= this._beginMessage(firstByte);
    this._message.beginFrame();
    return this._message;
  }

  _beginMessage(firstByte) {
    const pooled = this._onFrame === undefined;
    const message = new PartialMessage(firstByte, this._limits.maxPayload, this._strings, pooled);
    message.isChecked = this._checked;
    if (this._listed) message.lengths = [];
    return message;
  }

  _endFragment(firstByte) {
    const message = this._message;
    const last = (firstByte & FIN) !== 0;
    const valid = message.validate(last);
    if (!valid) this._fail(textFault());
    message.lengths?.push(message.length - message.frameStart);
    if (!valid || !last) return;
    this._message = null;
    const { fragments } = message;
    const data = message.isString ? message.decode() : view(message.buffer, 0, message.length);
    const lengths = fragments > 1 ? message.lengths : undefined;
    this._deliverMessage(data, message.firstByte, message.length, fragments, lengths);
  }

  _deliverText(firstByte, chunk, start, end, ascii) {
    let data;
    if (this._strings) data = decodeText(chunk, start, end, ascii);
    else {
      const bytes = part(chunk, start, end);
      if (ascii || !this._checked || isUtf8(bytes)) data = bytes;
    }
    if (data === undefined) this._fail(textFault());
    else this._deliverMessage(data, firstByte, end - start, 1);
  }

  // `length` is the length of the message in bytes, before it is inflated.
  _deliverMessage(data, firstByte, length, fragments, lengths) {
    if (this._traced) traceMessage(this, firstByte, length, fragments);
    if ((firstByte & RSV1) !== 0 && this._deflate !== null) {
      this._unlessPaused(this._inflate.bind(this, data, firstByte, lengths));
    } else if (this._state === RUNNING) this._giveMessage(data, firstByte, lengths);
    else this._unlessPaused(this._giveMessage.bind(this, data, firstByte, lengths));
  }

  /** Inflates a message and delivers it: now, or when the thread pool has inflated it. */
  _inflate(data, firstByte, lengths) {
    const plainByte = firstByte & ~RSV1;
    const limit = this._strings && isText(plainByte) ? this._limits.maxString : this._limits.maxPayload;
    this._inflation ??= new Inflation(
      this._mode & MODE_MASKED ? this._deflate._client : this._deflate._server,
      this._deflate._settings
    );
    let inflated;
    try {
      inflated = this._inflation.inflate(data, limit);
    } catch (fault) {
      this._fail(fault);
      return;
    }
    if (inflated !== null) {
      this._deliverInflated(inflated, plainByte, lengths);
      return;
    }
    this._state = INFLATING;
    this._inflation.inflateLater(data, limit, (fault, bytes) => {
      if (this._state === ENDED) return;
      this._goOn(() => {
        if (fault === null) this._deliverInflated(bytes, plainByte, lengths);
        else this._fail(fault);
      });
    });
  }

  _deliverInflated(inflated, firstByte, lengths) {
    const text = isText(firstByte);
    let data;
    if (text && this._strings) data = decodeText(inflated, 0, inflated.length, false);
    else if (!text || !this._checked || isUtf8(inflated)) data = toOwn(inflated);
    if (data === undefined) this._fail(textFault());
    else this._giveMessage(data, firstByte, lengths);
  }

  _giveMessage(data, firstByte, lengths) {
    this._fragmentLengths = lengths;
    try {
      this._onMessage?.(data, (firstByte & OPCODE) === Opcode.BINARY, (firstByte & RSV1) !== 0);
    } finally {
      this._fragmentLengths = undefined;
    }
  }

  _deliverClose(payload) {
    const error = findCloseFault(payload, this._checked);
    if (error !== null) {
      this._fail(error);
      return;
    }
    // "After sending a control frame indicating the connection should be closed, a peer does not
    // send any further data; ... any further data received" is discarded (RFC 6455 section 1.4).
    this._end();
    // On Deno utf8Slice(2) of an empty payload throws.
    if (payload.length === 0) this._onClose?.(NO_STATUS, '', Buffer.allocUnsafeSlow(0));
    else this._onClose?.(payload.readUInt16BE(0), payload.utf8Slice(2, payload.length), payload.subarray(2));
  }
}

let warned = false;

/** Once: handlers that are assigned to a Decoder, instead of given as options, are never called. */
function warnWithoutHandlers({ _onPing, _onPong, _onClose, _onError }) {
  if ((_onPing ?? _onPong ?? _onClose ?? _onError) !== undefined || isTraced()) return;
  warned = true;
  process.emitWarning('A Decoder without handlers delivers nothing: give the constructor onMessage or others');
}

/** A view, or `bytes` itself where it is all of it. */
function part(bytes, start, end) {
  return start === 0 && end === bytes.length ? bytes : view(bytes, start, end);
}

module.exports = { Delivery, ENDED, INFLATING, INFLATING_PAUSED, PAUSED, RUNNING };
