'use strict';

const { Buffer } = require('../shared/buffers');
const { findReactor } = require('./find-reactor');
const { Lane } = require('./lane');
const { laneOf } = require('./lane-handle');
const { Outbox } = require('./outbox');

// Batched reads: the addon of src/reactor/ receives for all sockets that are ready, and calls
// JavaScript once for all of them, a round. Node.js calls it for each.

/** The sizes that src/reactor/reactor.cc checks. */
const MEMORY_SIZE = 80 * 1024;
const MAX_ENTRIES = 256;
const ENTRY_LENGTH = 3;

/** The rounds of this thread; null before the first socket, and if they are impossible. */
let rounds = null;
/** Why they are impossible; null if they are not, or have not been tried. */
let fault = null;

class Rounds {
  constructor(addon) {
    /** The memory of a round. It must not reach a program's code. */
    this.memory = Buffer.allocUnsafeSlow(MEMORY_SIZE);
    this._table = createTable();
    this._lanes = [];
    this._free = [];
    /** Slots that become free in a round: an entry of it may name them. */
    this._freed = [];
    this.inRound = false;
    /** The lanes that keep the loop alive. */
    this._holding = 0;
    const replies = Buffer.allocUnsafeSlow(Outbox.SIZE);
    const repliesTable = createTable();
    this.outbox = new Outbox(replies, repliesTable);
    this._reactor = addon.open(this.memory, this._table, replies, repliesTable, (count) => this._deliver(count));
    this.outbox.send = this._reactor.send;
    process.on('exit', () => {
      this.outbox.flush();
      // A round that calls process.exit() never ends: what later listeners send can't wait for that.
      this.inRound = false;
    });
  }

  /** The sockets that are received for, or paused. */
  get size() {
    return this._lanes.length - this._free.length - this._freed.length;
  }

  /** @returns {number} the slot of a lane, or an error of libuv's */
  enter(lane, descriptor) {
    const slot = this._free.length === 0 ? this._lanes.length : this._free.pop();
    this._lanes[slot] = lane;
    const result = this._reactor.enter(slot, descriptor);
    if (result === 0) return slot;
    this._free.push(slot);
    return result;
  }

  leave(slot) {
    this._reactor.leave(slot);
    this._freed.push(slot);
    if (!this.inRound) this._release();
  }

  _release() {
    for (const slot of this._freed) {
      this._lanes[slot] = null;
      this._free.push(slot);
    }
    this._freed.length = 0;
  }

  /** @returns {number} 0, or an error of libuv's */
  watch(slot, isWatched) {
    return this._reactor.watch(slot, isWatched ? 1 : 0);
  }

  /** Counts the lanes that keep the loop alive, as a reading socket does. */
  hold(isHolding) {
    const before = this._holding;
    this._holding += isHolding ? 1 : -1;
    if (before === 0 || this._holding === 0) this._reactor.hold(isHolding ? 1 : 0);
  }

  /**
   * Gives each entry to its lane. The reactor calls it again where a handler has thrown, for the
   * entries after that.
   */
  _deliver(count) {
    const table = this._table;
    this.inRound = true;
    while (table[0] < count) {
      const at = 1 + table[0]++ * ENTRY_LENGTH;
      this._lanes[table[at]].receive(table[at + 1], table[at + 2]);
      this.outbox.flushLate();
    }
    this.outbox.flush();
    this.inRound = false;
    if (this._freed.length !== 0) this._release();
  }
}

const createTable = () => new Int32Array(1 + MAX_ENTRIES * ENTRY_LENGTH);

/** @returns {boolean} whether sockets can be read in rounds: at the first call it tries */
function canBatch() {
  if (rounds === null && fault === null) {
    try {
      rounds = new Rounds(findReactor());
    } catch (error) {
      fault = error;
    }
  }
  return rounds !== null;
}

/**
 * Has a socket read in rounds from now on, or again. Where that is impossible it reads as before.
 *
 * @param {import('node:net').Socket} socket one that is being read
 * @param {{ receive(memory: Buffer, start: number, length: number): boolean }} receiver takes a chunk,
 *   which it must not keep; false stops reading
 */
function joinRounds(socket, receiver) {
  const lane = laneOf(socket);
  if (lane !== undefined) lane.comeBack();
  else if (canBatch()) Lane.open(rounds, socket, receiver);
}

/** Has a socket that was read in rounds read as before. */
function leaveRounds(socket) {
  laneOf(socket)?.giveBack();
}

/** @returns {boolean} whether a chunk lies in the memory of the rounds */
function isOfRound(chunk) {
  return rounds !== null && chunk.buffer === rounds.memory.buffer;
}

/** For `report()`: how many sockets are read in rounds, and why none can be. */
function describeRounds() {
  canBatch();
  return { sockets: rounds === null ? 0 : rounds.size, fault };
}

module.exports = { canBatch, describeRounds, isOfRound, joinRounds, leaveRounds };
