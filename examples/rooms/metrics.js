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
    this._counts = { frames: new Map(), payload_bytes: new Map(), errors: new Map() };
    this._onFrame = (record) => this._count(record);
    if (tracing) subscribe('framemask:frame', this._onFrame);
  }

  _count({ direction, opcode, length, error, role }) {
    if (role !== 'server') return; // a client of the same process
    const add = (name, labels, by) => this._counts[name].set(labels, (this._counts[name].get(labels) ?? 0) + by);
    if (error === null) {
      add('frames', `direction="${direction}",opcode="${OPCODES[opcode]}"`, 1);
      add('payload_bytes', `direction="${direction}"`, length);
    } else {
      add('errors', `code="${error.code}"`, 1);
    }
  }

  /**
   * @param {Record<string, number>} others counters and gauges of the program, by their names
   * @returns {string} the text format of Prometheus
   */
  format(others) {
    const lines = Object.entries(others).map(([name, value]) => `rooms_${name} ${value}\n`);
    for (const [name, counts] of Object.entries(this._counts)) {
      lines.push(`# TYPE framemask_${name}_total counter\n`);
      for (const [labels, count] of counts) lines.push(`framemask_${name}_total{${labels}} ${count}\n`);
    }
    return lines.join('');
  }

  stop() {
    unsubscribe('framemask:frame', this._onFrame);
  }
}

module.exports = { Metrics };
