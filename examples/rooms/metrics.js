'use strict';

const { subscribe, unsubscribe } = require('node:diagnostics_channel');
const { Counter, Gauge, Registry, collectDefaultMetrics } = require('prom-client');

const OPCODES = { 0: 'continuation', 1: 'text', 2: 'binary', 8: 'close', 9: 'ping', 10: 'pong' };

const GAUGES = {
  connections: 'Open connections of this process',
  rooms: 'Rooms with a member in this process',
  remembered: 'Messages that are kept for clients that come back'
};
const COUNTERS = {
  published: 'Messages that were said here',
  repeated: 'Messages that were sent again, and had been published',
  broadcast: 'Messages that came from all processes',
  delivered: 'Messages that were sent to members',
  tooSlow: 'Clients that were dropped because they did not read',
  tooMany: 'Clients that were closed because they sent too fast',
  silent: 'Clients that were dropped because they did not answer a Ping'
};

const snakeCase = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * The metrics of the chat, and of all connections and frames of this process, which framemask's
 * tracing channels tell. The connections have no code for it. It costs a record for each frame.
 */
class Metrics {
  /** `read` returns GAUGES' and COUNTERS' values; `tracing: false` counts no frames, at no cost. */
  constructor(read, { tracing = true } = {}) {
    this._registry = new Registry();
    const registers = [this._registry];
    collectDefaultMetrics({ register: this._registry });
    for (const [field, help] of Object.entries(GAUGES)) {
      const collect = () => gauge.set(read()[field]);
      const gauge = new Gauge({ name: `rooms_${field}`, help, registers, collect });
    }
    for (const [field, help] of Object.entries(COUNTERS)) {
      const collect = () => {
        counter.reset();
        counter.inc(read()[field]);
      };
      const counter = new Counter({ name: `rooms_${snakeCase(field)}_total`, help, registers, collect });
    }
    const count = (name, help, labelNames) =>
      new Counter({ name: `framemask_${name}_total`, help, labelNames, registers });
    this._frames = count('frames', 'Frames', ['direction', 'opcode']);
    this._bytes = count('payload_bytes', 'Bytes of payloads', ['direction']);
    this._errors = count('errors', 'Connections that broke a rule', ['code']);
    this._closes = count('closes', 'Connections that have ended, by their close code', ['code']);
    this._listeners = {
      'framemask:close': ({ role, closeCode: code }) => role === 'server' && this._closes.inc({ code }),
      ...(tracing && { 'framemask:frame': (record) => this._count(record) })
    };
    for (const [name, listener] of Object.entries(this._listeners)) subscribe(name, listener);
  }

  _count({ direction, opcode, length, error, role }) {
    if (role !== 'server') return; // a client of the same process
    if (error === null) {
      this._frames.inc({ direction, opcode: OPCODES[opcode] });
      this._bytes.inc({ direction }, length);
    } else {
      this._errors.inc({ code: error.code });
    }
  }

  get contentType() {
    return this._registry.contentType;
  }

  /** @returns {Promise<string>} the text format of Prometheus */
  format() {
    return this._registry.metrics();
  }

  stop() {
    for (const [name, listener] of Object.entries(this._listeners)) unsubscribe(name, listener);
  }
}

module.exports = { Metrics };
