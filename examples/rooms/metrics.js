'use strict';

const { subscribe, unsubscribe } = require('node:diagnostics_channel');

const OPCODES = { 0: 'continuation', 1: 'text', 2: 'binary', 8: 'close', 9: 'ping', 10: 'pong' };

/**
 * Counts what all connections of this process send and receive, by framemask's tracing channels.
 * The connections have no code for it. It costs a record for each frame.
 */
class Metrics {
  /** @param {{ tracing?: boolean }} [options] false counts nothing, and costs nothing */
  constructor({ tracing = true } = {}) {
    /** Labels → how many. */
    this._frames = new Map();
    this._bytes = new Map();
    this._errors = new Map();
    this._onFrame = (record) => this._count(record);
    if (tracing) subscribe('framemask:frame', this._onFrame);
  }

  _count({ direction, opcode, length, error, role }) {
    if (role !== 'server') return; // a client of the same process
    if (error !== null) {
      add(this._errors, `code="${error.code}"`, 1);
      return;
    }
    add(this._frames, `direction="${direction}",opcode="${OPCODES[opcode]}"`, 1);
    add(this._bytes, `direction="${direction}"`, length);
  }

  /**
   * @param {Record<string, number>} others counters and gauges of the program, by their names
   * @returns {string} the text format of Prometheus
   */
  format(others) {
    const lines = Object.entries(others).map(([name, value]) => `rooms_${name} ${value}`);
    for (const [name, counts] of [
      ['frames', this._frames],
      ['payload_bytes', this._bytes],
      ['errors', this._errors]
    ]) {
      lines.push(`# TYPE framemask_${name}_total counter`);
      for (const [labels, count] of counts) lines.push(`framemask_${name}_total{${labels}} ${count}`);
    }
    return `${lines.join('\n')}\n`;
  }

  stop() {
    unsubscribe('framemask:frame', this._onFrame);
  }
}

function add(counts, labels, by) {
  counts.set(labels, (counts.get(labels) ?? 0) + by);
}

module.exports = { Metrics };
