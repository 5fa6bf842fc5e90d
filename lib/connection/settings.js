'use strict';

const { Decoder } = require('../codec/decoder');
const { readHandler } = require('../codec/options');
const { checkObject, checkOptions, readBoolean, readTime, readWhole } = require('../shared/option-names');

/** As uWebSockets in Bun: a slow reader may leave so many bytes. */
const MAX_BACKPRESSURE = 16 * 1024 * 1024;
const CLOSE_TIMEOUT = 10_000;

const HANDLERS = ['onMessage', 'onPart', 'onPing', 'onPong', 'onDrain', 'onError', 'onClose'];
/** Options that the Decoder judges. */
const OF_DECODER = ['maxPayload', 'maxFragments', 'partsFrom', 'text'];
const NAMES = [...HANDLERS, ...OF_DECODER, 'maxBackpressure', 'closeTimeout', 'heartbeat', 'autoPong'];

/** The options that a server's connections share, checked: see ConnectionOptions in index.d.ts. */
class Settings {
  constructor(options) {
    checkOptions(options, 'Connection');
    for (const name of HANDLERS) this[name] = readHandler(options, name);
    this.maxBackpressure = readWhole(options, 'maxBackpressure', 0, Infinity, MAX_BACKPRESSURE);
    this.closeTimeout = readTime(options, 'closeTimeout', CLOSE_TIMEOUT);
    this.heartbeat = readTime(options, 'heartbeat', 0);
    this.autoPong = readBoolean({ autoPong: options.autoPong ?? true }, 'autoPong');
    this.ofDecoder = {};
    for (const name of OF_DECODER) this.ofDecoder[name] = options[name];
    // Throws before a handshake is answered.
    new Decoder({ ...this.ofDecoder, role: 'server', onMessage: readHandler, onPart: this.onPart });
    this._given = NAMES.map((name) => options[name]);
  }

  /** Whether the options are still those that were read. */
  isOf(options) {
    return NAMES.every((name, i) => options[name] === this._given[i]);
  }
}

/** Settings by the object that a program has given. */
const known = new WeakMap();

/** @throws {TypeError | RangeError} for an option that can't be taken */
function settingsOf(options) {
  checkObject(options);
  let settings = known.get(options);
  if (settings === undefined || !settings.isOf(options)) {
    settings = new Settings(options);
    known.set(options, settings);
  }
  return settings;
}

module.exports = { settingsOf };
