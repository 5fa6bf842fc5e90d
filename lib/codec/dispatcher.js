'use strict';

const { Buffer, view } = require('../shared/buffers');
const { Inflation } = require('../deflate/inflation');
const { toOwn } = require('../deflate/zlib-handle');
const { FrameError } = require('../shared/errors');
const { FIN, NO_STATUS, OPCODE, Opcode, RSV1 } = require('../shared/protocol');
const { isTraced, traceError, traceFrame, traceMessage } = require('../tracing');
const { findCloseError } = require('./close-frame');
const { MessageAssembler } = require('./message-assembler');
const { detachedError, utf8Error } = require('./message-errors');
const { readHandler, readTrace } = require('./options');

// Handlers are methods of the decoder, their `this`. `handler.call(decoder)` would take 6 ns longer.
const kOnMessage = Symbol('onMessage');
const kOnFrame = Symbol('onFrame');
const kOnPing = Symbol('onPing');
const kOnPong = Symbol('onPong');
const kOnClose = Symbol('onClose');
const kOnError = Symbol('onError');
const kOnInflated = Symbol('onInflated');

/** An internal `onFrame` returns it for a fragment whose bytes the Decoder need not gather. */
const TAKEN = Symbol('taken');

/** The bits of `state`: why nothing is dispatched. */
const PAUSED = 1;
/** A message is in zlib's thread pool. */
const INFLATING = 2;
const CLOSED = 4;

/** The steps at which a pause can interrupt a frame or a message, in their order. */
const SHOW = 0;
const USE = 1;
const INFLATE = 2;
const INFLATE_LATER = 3;
const GIVE_INFLATED = 4;
const GIVE = 5;

/**
 * Takes each complete frame, and the message that it completes, through its steps: subscribers,
 * `onFrame`, the MessageAssembler, inflating, the handler. All handlers and subscribers are called
 * here. A handler may pause or stop the decoder: the next step is then held, or never done.
 */
class Dispatcher {
  /** @param {object} decoder what handlers have as `this` */
  constructor(decoder, options, agreement) {
    this.assembler = new MessageAssembler(options);
    /** 0 while frames are dispatched. */
    this.state = 0;
    /** Whether there are subscribers: set by `resume`. */
    this.isTraced = false;
    /** The number of frames so far, for tracing. */
    this.sequence = 0;
    this.fragmentLengths = undefined;
    this._decoder = decoder;
    decoder[kOnMessage] = readHandler(options, 'onMessage');
    decoder[kOnFrame] = readHandler(options, 'onFrame');
    decoder[kOnPing] = readHandler(options, 'onPing');
    decoder[kOnPong] = readHandler(options, 'onPong');
    decoder[kOnClose] = readHandler(options, 'onClose');
    decoder[kOnError] = readHandler(options, 'onError');
    decoder[kOnInflated] = readHandler(options, 'onInflated');
    if ((decoder[kOnMessage] ?? decoder[kOnFrame]) === undefined && !hasWarned) warnWithoutHandlers(decoder);
    // For tracing: what records say of the connection.
    this._connection = readTrace(options);
    // A step that a pause has interrupted.
    this._held = null;
    this._inflation = agreement === null ? null : new Inflation(agreement.receiving(decoder.role));
  }

  get hasOnMessage() {
    return this._decoder[kOnMessage] !== undefined;
  }

  get hasOnFrame() {
    return this._decoder[kOnFrame] !== undefined;
  }

  /** Whether a handler may see the bytes of a frame: not if they become a string at once. */
  exposes(firstByte) {
    return !this.assembler.becomesString(firstByte) || this.hasOnFrame || this.isTraced;
  }

  /** Begins or goes on: first with the step that a pause has interrupted. */
  resume() {
    this.isTraced = isTraced();
    if (this._held !== null) this._resumeHeld();
  }

  _resumeHeld() {
    while (this._held !== null && this.state === 0) {
      const held = this._held;
      this._held = null;
      if (held.step === SHOW) this._show(held);
      else if (held.step === USE) this._use(held);
      else if (held.step === INFLATE) this._inflate(held);
      else if (held.step === GIVE_INFLATED) this._giveInflated(held);
      else this._give(held.data, held.firstByte, held.lengths);
    }
  }

  close() {
    this.state = CLOSED;
    this.assembler.forget();
    this._held = null;
    this._inflation?.close();
  }

  /** Counts a frame, and judges it by its header. Returns false if it breaks a rule. */
  accepts(firstByte, length) {
    this.sequence++;
    const error = this.assembler.judge(firstByte, length);
    if (error !== null) this.failFrame(error, firstByte, length);
    return error === null;
  }

  failFrame(error, firstByte, length) {
    error.firstByte = firstByte;
    error.length = length;
    this.fail(error);
  }

  /** Ends the dispatching, and reports the FrameError that says why. */
  fail(error) {
    this.close();
    if (this.isTraced) traceError(this._traceSource, error);
    if (this._decoder[kOnError] === undefined) throw error;
    this._decoder[kOnError](error);
  }

  failDetached() {
    this.fail(detachedError());
  }

  /** A message without compression, of one frame, which no subscriber and no `onFrame` sees. */
  dispatchMessage(data, isBinary) {
    this._decoder[kOnMessage]?.(data, isBinary, false);
  }

  /** A frame, for a decoder that has `onFrame` and not `onMessage`, and no subscriber. */
  dispatchFrame(firstByte, bytes, start, end) {
    this._decoder[kOnFrame](firstByte, bytes, start, end);
  }

  /**
   * A complete frame. `bytes[start]` to `bytes[end - 1]` is its payload, unmasked; `ascii`: known to
   * be ASCII; `gathered`: the payload is in its message already.
   */
  dispatch(firstByte, bytes, start, end, ascii, gathered) {
    if (!this.isTraced && !this.hasOnFrame) {
      this._useFrame(firstByte, bytes, start, end, ascii, gathered);
      return;
    }
    // An empty Buffer is not shown itself: it can't reveal detachment.
    const isEmpty = bytes[0] === undefined;
    const frame = { step: SHOW, firstByte, bytes, start, end, ascii, gathered, isEmpty, isTaken: false };
    if (this.isTraced) traceFrame(this._traceSource, firstByte, end - start);
    if (!this._holds(frame)) this._show(frame);
  }

  /** Whether a message waits for `inflateLater`. */
  get mustInflate() {
    return this._held !== null && this._held.step === INFLATE_LATER;
  }

  /** Inflates that message in the thread pool. The callback passes its arguments to `endInflating`. */
  inflateLater(callback) {
    const message = this._held;
    message.step = GIVE_INFLATED;
    this._inflation.inflateLater(message.data, this._inflatedLimit(message.firstByte), callback);
  }

  /** @returns {boolean} false if the dispatching has ended meanwhile */
  endInflating(error, inflated) {
    if (this.state === CLOSED) return false;
    this._held.error = error;
    this._held.data = inflated;
    this.state &= ~INFLATING;
    return true;
  }

  /** Tells the program that a message has been inflated in the thread pool. */
  announceInflated() {
    this._decoder[kOnInflated]?.();
  }

  /** Keeps a step while nothing is dispatched. Returns false if the step is due now. */
  _holds(held) {
    if (this.state === 0) return false;
    if (this.state !== CLOSED) this._held = held;
    return true;
  }

  _show(frame) {
    const { firstByte, bytes, start, end, isEmpty } = frame;
    frame.step = USE;
    // The frame is used even if onFrame throws: nothing is lost.
    try {
      const result = this._decoder[kOnFrame]?.(firstByte, isEmpty ? Buffer.allocUnsafeSlow(0) : bytes, start, end);
      frame.isTaken = result === TAKEN;
    } finally {
      if (!this._holds(frame)) this._use(frame);
    }
  }

  _use({ firstByte, bytes, start, end, ascii, gathered, isEmpty, isTaken }) {
    if (!isEmpty && bytes[0] === undefined) this.failDetached();
    else if (isTaken) this._take(this.assembler.skip(firstByte, end - start, gathered));
    else this._useFrame(firstByte, bytes, start, end, ascii, gathered);
  }

  /** Dispatches what a frame carries, or adds it to its message. */
  _useFrame(firstByte, bytes, start, end, ascii, gathered) {
    const { assembler } = this;
    if ((firstByte & OPCODE) >= Opcode.CLOSE) {
      this._dispatchControl(firstByte, start === 0 && end === bytes.length ? bytes : view(bytes, start, end));
    } else if (assembler.message === null && (firstByte & FIN) !== 0) {
      const data = assembler.decode(firstByte, bytes, start, end, ascii);
      if (data === undefined) this.fail(utf8Error());
      else this._dispatchMessage(data, firstByte, end - start, 1, undefined);
    } else {
      const isExposed = this.hasOnFrame;
      this._take(
        gathered ? assembler.endFrame(firstByte) : assembler.add(firstByte, bytes, start, end, ascii, isExposed)
      );
    }
  }

  get _traceSource() {
    this._connection ??= {};
    return { role: this._decoder.role, isSender: false, sequence: this.sequence, connection: this._connection };
  }

  /** @param {FrameError | PartialMessage | null} result of the assembler */
  _take(result) {
    if (result === null) return;
    if (result instanceof FrameError) {
      this.fail(result);
      return;
    }
    const { firstByte, length, skipped, fragments, lengths } = result;
    this._dispatchMessage(result.take(), firstByte, length + skipped, fragments, fragments > 1 ? lengths : undefined);
  }

  _dispatchControl(firstByte, payload) {
    const opcode = firstByte & OPCODE;
    if (opcode === Opcode.CLOSE) this._dispatchClose(payload);
    else if (opcode === Opcode.PING) this._decoder[kOnPing]?.(payload);
    else this._decoder[kOnPong]?.(payload);
  }

  _dispatchClose(payload) {
    const error = findCloseError(payload, this.assembler.validates);
    if (error !== null) {
      this.fail(error);
      return;
    }
    // "After sending a control frame indicating the connection should be closed, a peer does not
    // send any further data; ... any further data received" is discarded (RFC 6455 section 1.4).
    this.close();
    const { length } = payload;
    // On Deno utf8Slice(2) of an empty payload throws.
    if (length === 0) this._decoder[kOnClose]?.(NO_STATUS, '', Buffer.allocUnsafeSlow(0));
    else {
      const [code, reason] = [payload.readUInt16BE(0), payload.subarray(2)];
      this._decoder[kOnClose]?.(code, payload.utf8Slice(2, length), reason);
    }
  }

  /** `length` is that of the message in bytes, before it is inflated. */
  _dispatchMessage(data, firstByte, length, fragments, lengths) {
    if (this.isTraced) traceMessage(this._traceSource, firstByte, length, fragments);
    const isDeflated = (firstByte & RSV1) !== 0 && this._inflation !== null;
    if (this.state === 0 && !isDeflated) {
      this._give(data, firstByte, lengths);
      return;
    }
    const message = { step: isDeflated ? INFLATE : GIVE, data, firstByte, lengths, error: null };
    if (!this._holds(message)) this._inflate(message);
  }

  /** Inflates a message and gives it to its handler: now, or when the thread pool has inflated it. */
  _inflate(message) {
    message.step = GIVE_INFLATED;
    try {
      const inflated = this._inflation.inflate(message.data, this._inflatedLimit(message.firstByte));
      if (inflated === null) {
        message.step = INFLATE_LATER;
        this._held = message;
        this.state = INFLATING;
        return;
      }
      message.data = inflated;
    } catch (error) {
      message.error = error;
    }
    this._giveInflated(message);
  }

  _inflatedLimit(firstByte) {
    const { assembler } = this;
    return assembler.becomesString(firstByte & ~RSV1) ? assembler.maxString : assembler.maxPayload;
  }

  _giveInflated({ data: inflated, firstByte, lengths, error }) {
    if (error !== null) {
      this.fail(error);
      return;
    }
    const plainByte = firstByte & ~RSV1;
    const data = this.assembler.decode(plainByte, inflated, 0, inflated.length, false);
    if (data === undefined) this.fail(utf8Error());
    else this._give(typeof data === 'string' ? data : toOwn(data), plainByte, lengths);
  }

  _give(data, firstByte, lengths) {
    this.fragmentLengths = lengths;
    try {
      const isBinary = (firstByte & OPCODE) === Opcode.BINARY;
      this._decoder[kOnMessage]?.(data, isBinary, (firstByte & RSV1) !== 0);
    } finally {
      this.fragmentLengths = undefined;
    }
  }
}

let hasWarned = false;

/** Once: handlers that are assigned to a Decoder, instead of given as options, are never called. */
function warnWithoutHandlers(decoder) {
  if ([kOnPing, kOnPong, kOnClose, kOnError].some((key) => decoder[key] !== undefined) || isTraced()) return;
  hasWarned = true;
  process.emitWarning('A Decoder without handlers delivers nothing: give the constructor onMessage or others');
}

module.exports = { CLOSED, Dispatcher, INFLATING, PAUSED, TAKEN };
