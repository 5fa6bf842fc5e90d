'use strict';

/**
 * Faults, and the test that fails with each. `from` stands once in the file.
 *
 * @type {{ file: string, from: string, to: string, test: string }[]}
 */
const FAULTS = [
  // The addon: each takes a build.
  ['src/mask.h', '(bytes & 3) * 8', '(bytes & 1) * 8', 'test/masking/mask.js'],
  ['src/scan.cc', '== kRsv1 && opcode != 0', '== kRsv1', 'test/codec/scan.js'],

  [
    'lib/masking/fallback.js',
    'const shift = (bytes & 3) << 3',
    'const shift = (bytes & 1) << 3',
    'test/masking/mask.js'
  ],

  ['lib/codec/header.js', '(size === 4 ? 126 : 65536)', '(size === 4 ? 125 : 65536)', 'test/codec/decoder/refusals.js'],
  ['lib/codec/header.js', 'high > 0x7fffffff', 'high > 0xffffffff', 'test/codec/decoder/refusals.js'],
  ['lib/codec/header.js', '(length <= 0xffff ? 4 : 10)', '(length < 0xffff ? 4 : 10)', 'test/properties.js'],
  [
    'lib/codec/header.js',
    'if ((secondByte & MASK) !== maskBit)',
    'if ((secondByte & MASK) > maskBit)',
    'test/codec/decoder/refusals.js'
  ],
  [
    'lib/codec/message-assembler.js',
    'message.fragments >= this._maxFragments',
    'message.fragments > this._maxFragments',
    'test/properties.js'
  ],
  ['lib/codec/dispatcher.js', ' || this._deflates(firstByte);', ';', 'test/deflate/turns.js'],
  ['lib/ws/repeats.js', '!payload.equals(data)', 'false', 'test/ws/broadcast.js'],
  [
    'lib/codec/message-assembler.js',
    'message.length + message.skipped)) {',
    'message.length)) {',
    'test/codec/decoder/parts.js'
  ],
  [
    'lib/codec/message-assembler.js',
    'before + length >= this._parts.from',
    'before + length > this._parts.from',
    'test/ws/message-stream.js'
  ],
  ['lib/codec/close-frame.js', 'payload.length === 1', 'payload.length === 3', 'test/codec/decoder/refusals.js'],
  ['lib/codec/close-frame.js', '!validates || payload', 'validates || payload', 'test/codec/decoder/refusals.js'],
  ['lib/sockets/flush-queue.js', ' || held.queue.length >= 2 * SMALL_SLABS', '', 'test/ws/flushing.js'],
  ['lib/codec/dispatcher.js', 'length !== 0 && data[0] === undefined', 'false', 'test/hazards/codec.js'],
  ['lib/codec/masking-key.js', 'while (key === 0)', 'while (key === 1)', 'test/codec/encoder.js'],
  ['lib/codec/masking-key.js', 'keys.fill(0);', '', 'test/codec/encoder.js'],
  ['lib/codec/encoder.js', 'if (length > MAX_SHORT - 2)', 'if (length > MAX_SHORT - 1)', 'test/codec/encoder.js'],
  ['lib/codec/encoder.js', "if (this._half === '') return;", 'return;', 'test/codec/encoder.js'],

  ['lib/shared/utf8.js', 'if (leadByte === 0xed) return second < 0xa0;', '', 'test/codec/utf8.js'],
  ['lib/shared/utf8.js', '=== 0xd800 ? 1 : 0', '=== 0xdc00 ? 1 : 0', 'test/codec/encoder.js'],
  ['lib/frame-id.js', '(batch[at + 1] & 0xffff0fff) | 0x4000', 'batch[at + 1] | 0x4000', 'test/frame-id.js'],
  ['lib/shared/header-lists.js', 'at > header.length && extensions', 'extensions', 'test/shared/header-lists.js'],

  [
    'lib/connection/closing.js',
    'return this._isServer ? answer | END : answer;',
    'return answer | END;',
    'test/connection/closing.js'
  ],
  ['lib/connection/closing.js', 'if (this._state >= ENDS) return 0;', '', 'test/connection/closing.js'],
  [
    'lib/connection/endpoint.js',
    'endpoint.closing.mayRead ? decodeRest : noop',
    'noop',
    'test/connection/connection.js'
  ],
  ['lib/connection/endpoint.js', 'if (this.output.isFull) this._awaitLeft();', '', 'test/connection/flow.js'],
  ['lib/connection/endpoint.js', 'watchDestroy(stream, () => lose(endpoint));', '', 'test/life.js'],
  ['lib/sockets/outgoing.js', 'callInTurn(list, error)', 'callInOrder(list, error)', 'test/life.js'],
  ['lib/handshake.js', 'if (isOver(socket)) {', 'if (socket.destroyed) {', 'test/life.js'],
  ['lib/sockets/outgoing.js', 'due = null;', '', 'test/connection/hazards.js'],
  [
    'lib/connection/endpoint.js',
    'if (!this.output.isFull && !this.closing.isOver)',
    'if (!this.closing.isOver)',
    'test/connection/deflate.js'
  ],
  [
    'lib/sockets/heartbeat.js',
    'for (const [member, onTick] of members) onTick(member);',
    'for (const [member] of members) members.values().next().value(member);',
    'test/connection/flow.js'
  ],
  ['lib/ws/guard.js', "socket.once('close', () => leaveClock(heartbeat, this));", '', 'test/ws/limits.js'],
  ['lib/ws/guard.js', '|| this._socket.isPaused()', '', 'test/ws/limits.js'],
  ['lib/ws/sender-adapter.js', 'if (this._outgoing.callbacks !== null) this.flush();', '', 'test/ws/flushing.js'],
  ['lib/ws/sender-adapter.js', 'if (!isClose && this.guard', 'if (this.guard', 'test/ws/limits.js'],
  [
    'lib/handshake.js',
    'Number(httpVersion) < 1.1 || headers.host === undefined',
    'headers.host === undefined',
    'test/handshake.js'
  ],
  ['lib/handshake.js', 'if (hasBody(headers)) return [400, {}];', '', 'test/handshake.js'],
  ['lib/codec/header.js', 'high > 0x1fffff', 'high > 0x3fffff', 'test/codec/decoder/refusals.js'],
  ['lib/shared/utf8.js', 'if (leadByte === 0xf4) return second < 0x90;', '', 'test/codec/utf8.js'],
  ['lib/shared/utf8.js', 'leadByte < 0xc2', 'leadByte < 0xc0', 'test/codec/utf8.js'],
  ['lib/handshake.js', "headers['sec-websocket-version'] !== '13'", 'false', 'test/handshake.js'],
  [
    'lib/connection/closing.js',
    'return this._state <= BY_US;',
    'return this._state < BY_US;',
    'test/connection/closing.js'
  ],
  ['lib/ws/guard.js', 'connections.ended[option]++;', '', 'test/ws/limits.js'],
  ['lib/shared/option-names.js', 'const MIN_LENGTH = 6;', 'const MIN_LENGTH = 4;', 'test/codec/options.js']
].map(([file, from, to, test]) => ({ file, from, to, test }));

module.exports = { FAULTS };
