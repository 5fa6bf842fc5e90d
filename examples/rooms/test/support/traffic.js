'use strict';

// Clients that talk in rooms, and what each of them must have heard at the end.

const { setTimeout: sleep } = require('node:timers/promises');

/** Connections that are opened at a time. */
const AT_ONCE = 50;
/** Milliseconds between the moments at which messages are sent. */
const TICK = 20;
/** Milliseconds after which a condition is given up, so that the counts can be seen. */
const PATIENCE = 120_000;

/** @returns {Promise<boolean>} whether the condition came true */
async function until(condition) {
  const end = performance.now() + PATIENCE;
  while (!condition()) {
    if (performance.now() > end) return false;
    await sleep(TICK);
  }
  return true;
}

const sum = (items, of) => items.reduce((total, item) => total + of(item), 0);

/** Clients in rooms of `roomSize`, a divisor of `clients`, that say `messages` messages each. */
class Traffic {
  /**
   * `connect` sets the `isJoined` of a client once it is in its room, adds the numbers to
   * `published` of its messages that must be heard, calls `hear`, and adds `close` and `say`, which
   * returns false if it can say nothing now.
   */
  constructor({ connect, clients, roomSize, messages }) {
    this.total = clients * messages;
    this.said = 0;
    this._connect = connect;
    this._roomSize = roomSize;
    this._perSecond = Math.min(clients, 1000);
    this.clients = Array.from({ length: clients }, (_, index) => ({
      index,
      room: `room ${Math.floor(index / roomSize)}`,
      isJoined: false,
      said: 0,
      published: new Set(),
      /** By neighbour: the numbers of its messages, in the order in which they came. */
      heard: Array.from({ length: roomSize }, () => []),
      /** A sum over all that was heard, in its order: the same for all neighbours. */
      order: 0,
      close() {}
    }));
  }

  /** Connects all clients. Returns once each is in its room. */
  async join() {
    for (let i = 0; i < this.clients.length; i += AT_ONCE) {
      const some = this.clients.slice(i, i + AT_ONCE);
      for (const client of some) this._connect(client);
      if (!(await until(() => some.every(({ isJoined }) => isJoined)))) throw new Error('Clients could not join');
    }
  }

  /** Has the clients say messages in turns, until this share of all is said. */
  async talk(share) {
    let due = this.said;
    let last = performance.now();
    while (this.said < share * this.total) {
      await sleep(TICK);
      const now = performance.now();
      due = Math.min(due + ((now - last) / 1000) * this._perSecond, share * this.total, this.said + this._perSecond);
      last = now;
      // A client that cannot say anything now holds up all: on a busy machine the traffic is
      // slower.
      while (this.said < due && this.clients[this.said % this.clients.length].say()) this.said++;
    }
  }

  /** @returns {number} how many of its neighbours' published messages a client has not heard */
  missing({ index, heard }) {
    const first = index - (index % this._roomSize);
    return sum([...heard.entries()], ([i, numbers]) => {
      const distinct = new Set(numbers);
      return [...this.clients[first + i].published].filter((n) => !distinct.has(n)).length;
    });
  }

  /** Waits for these clients to hear everything. @returns {Promise<boolean>} whether they have */
  settle(clients = this.clients) {
    return until(() => clients.every((client) => this.missing(client) === 0));
  }

  /** Counts what all clients have heard, and what they have missed. */
  count() {
    const result = { published: 0, deliveries: 0, lost: 0, repeated: 0, outOfOrder: 0, orders: new Set() };
    for (const client of this.clients) {
      result.published += client.published.size;
      result.lost += this.missing(client);
      result.orders.add(`${client.room}: ${client.order}`);
      for (const numbers of client.heard) {
        result.deliveries += numbers.length;
        result.repeated += numbers.length - new Set(numbers).size;
        result.outOfOrder += numbers.filter((n, i) => i > 0 && n <= numbers[i - 1]).length;
      }
    }
    return { ...result, orders: result.orders.size };
  }

  close() {
    for (const client of this.clients) client.close();
  }
}

/** A client has heard a neighbour. */
function hear(client, sender, n) {
  const { heard } = client;
  heard[sender % heard.length].push(n);
  client.order = (Math.imul(client.order, 31) + sender * 100_003 + n) | 0;
}

module.exports = { Traffic, hear, until };
