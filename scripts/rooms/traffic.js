'use strict';

// Clients of the chat that talk in rooms, and what each of them must have heard at the end.

const { setTimeout: sleep } = require('node:timers/promises');
const { WebSocket } = require('framemask/ws');

/** Connections that are opened at a time. */
const AT_ONCE = 50;
/** Milliseconds between the moments at which messages are sent. */
const TICK = 20;
/** Messages of a client that may wait for an acknowledgement. */
const UNACKNOWLEDGED = 3;
/** Milliseconds that all may wait for one client. */
const PATIENCE = 120_000;
/** Milliseconds without a message after which nobody hears anything any more. */
const SILENCE = 30_000;
const TEXT = 'A sentence as people write it in a chat, neither long nor short. ';

/** Many clients, each in one room of `roomSize`. Each says `messages` messages. */
class Traffic {
  /**
   * @param {object} options
   * @param {string[]} options.urls servers: clients begin with one each in turn
   * @param {number} options.clients a multiple of roomSize
   * @param {number} options.roomSize
   * @param {number} options.messages of each client
   * @param {number} options.perSecond messages of all clients
   */
  constructor({ urls, clients, roomSize, messages, perSecond }) {
    this.roomSize = roomSize;
    this.messages = messages;
    this.total = clients * messages;
    this.said = 0;
    this._urls = urls;
    this._perSecond = perSecond;
    this._clients = Array.from({ length: clients }, (_, i) => this._createClient(i));
  }

  _createClient(index) {
    const first = index % this._urls.length;
    return {
      index,
      room: `room ${Math.floor(index / this.roomSize)}`,
      urls: [...this._urls.slice(first), ...this._urls.slice(0, first)],
      chat: null,
      isJoined: false,
      acknowledged: 0,
      incomplete: 0,
      statuses: [],
      /** What each member of the room was heard to say: the numbers of its messages. */
      heard: Array.from({ length: this.roomSize }, () => []),
      count: 0,
      /** A sum over what was heard, in its order: the same for all members. */
      order: 0
    };
  }

  /** Connects all clients. Returns once each is in its room. */
  async join() {
    const { ChatClient } = await import('../../examples/rooms/page/client.mjs');
    for (const [i, client] of this._clients.entries()) {
      client.chat = new ChatClient({
        urls: client.urls,
        name: String(client.index),
        WebSocket,
        onMessage: (message) => hear(client, message, this.roomSize),
        onSent: (n) => {
          client.acknowledged = Math.max(client.acknowledged, n);
        },
        onStatus: (status, reason) => status !== 'connected' && client.statuses.push(`${status}: ${reason}`),
        onJoined: (_room, complete) => {
          client.isJoined = true;
          if (!complete) client.incomplete++;
        }
      });
      client.chat.join(client.room);
      if (i % AT_ONCE === AT_ONCE - 1) await until(() => this._clients[i - AT_ONCE + 1].isJoined, 30_000);
    }
    await until(() => this._clients.every(({ isJoined }) => isJoined), 60_000);
  }

  /**
   * Has each client say one message after the other, in turns. Who waits for too many
   * acknowledgements holds up all: on a busy machine the traffic is slower.
   *
   * @param {(said: number) => number} limit called before each tick; returns the share of all
   *   messages up to which to go on
   */
  async talk(limit) {
    let last = performance.now();
    let lastSaid = last;
    let due = 0;
    while (this.said < this.total) {
      const now = performance.now();
      due = Math.min(limit(this.said) * this.total, due + ((now - last) / 1000) * this._perSecond);
      last = now;
      while (this.said < due) {
        const { chat, room, acknowledged } = this._clients[this.said % this._clients.length];
        const number = Math.floor(this.said / this._clients.length) + 1;
        if (number - acknowledged > UNACKNOWLEDGED) break;
        chat.say(room, TEXT);
        this.said++;
        lastSaid = now;
      }
      if (now - lastSaid > PATIENCE) throw new Error(`Nobody could say anything after ${this.said} messages`);
      due = Math.min(due, this.said + this._perSecond);
      await sleep(TICK);
    }
  }

  /**
   * Waits until everybody has heard everything, or nobody hears anything any more.
   *
   * @returns {Promise<boolean>} whether everybody has
   */
  async settle() {
    const expected = this.roomSize * this.messages;
    const count = () => this._clients.reduce((sum, client) => sum + Math.min(client.count, expected), 0);
    let before = -1;
    let now = count();
    while (now > before && now < expected * this._clients.length) {
      before = now;
      await until(() => count() === expected * this._clients.length, SILENCE, false);
      now = count();
    }
    await sleep(300); // a message that comes twice
    return now === expected * this._clients.length;
  }

  /**
   * What is known now, to compare with the end.
   *
   * @param {string} url of a server that is about to be killed
   */
  snapshot(url) {
    return {
      acknowledged: this._clients.map(({ acknowledged }) => acknowledged),
      isOnIt: this._clients.map(({ chat }) => chat.url === url)
    };
  }

  /** @returns {Record<string, number>} what clients have missed, or heard twice or in another order */
  verify() {
    const result = { deliveries: 0, lost: 0, repeated: 0, outOfOrder: 0, roomsInAnotherOrder: 0 };
    const orders = new Map();
    for (const { heard, room, order } of this._clients) {
      for (const numbers of heard) {
        const distinct = new Set(numbers).size;
        result.deliveries += numbers.length;
        result.lost += this.messages - distinct;
        result.repeated += numbers.length - distinct;
        result.outOfOrder += numbers.filter((n, i) => i > 0 && n <= numbers[i - 1]).length;
      }
      orders.set(room, (orders.get(room) ?? new Set()).add(order));
    }
    for (const distinct of orders.values()) if (distinct.size > 1) result.roomsInAnotherOrder++;
    return result;
  }

  /**
   * @param {ReturnType<Traffic['snapshot']>} before
   * @returns {{ published: number, byClientsOfIt: number, others: number, lost: number }} messages
   *   that were acknowledged before, and how many of them clients of the other servers have missed
   */
  compare({ acknowledged, isOnIt }) {
    const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
    const others = this._clients.filter(({ index }) => !isOnIt[index]);
    const lost = others.map(({ index, heard }) => {
      const firstOfRoom = index - (index % this.roomSize);
      return sum(
        heard.map((numbers, i) => {
          const distinct = new Set(numbers);
          return Array.from({ length: acknowledged[firstOfRoom + i] }, (_, k) => k + 1).filter((n) => !distinct.has(n))
            .length;
        })
      );
    });
    return {
      published: sum(acknowledged),
      byClientsOfIt: sum(acknowledged.filter((_, i) => isOnIt[i])),
      others: others.length,
      lost: sum(lost)
    };
  }

  /** @returns {{ reconnected: number, reconnects: number, incomplete: number, reasons: object }} */
  connections() {
    const again = this._clients.map(({ chat }) => chat.connections - 1).filter((count) => count > 0);
    const reasons = {};
    for (const { statuses } of this._clients) {
      for (const status of statuses) reasons[status] = (reasons[status] ?? 0) + 1;
    }
    return {
      reconnected: again.length,
      reconnects: again.reduce((a, b) => a + b, 0),
      incomplete: this._clients.filter(({ incomplete }) => incomplete > 0).length,
      reasons
    };
  }

  close() {
    for (const { chat } of this._clients) chat?.close();
  }
}

function hear(client, { name, n }, roomSize) {
  const sender = Number(name) % roomSize;
  client.heard[sender].push(n);
  client.count++;
  client.order = (Math.imul(client.order, 31) + sender * 100_003 + n) | 0;
}

/** @returns {Promise<boolean>} whether the condition came true in time @throws if it must */
async function until(condition, milliseconds, must = true) {
  const end = performance.now() + milliseconds;
  while (!condition()) {
    if (performance.now() > end) {
      if (must) throw new Error('Clients could not connect in time');
      return false;
    }
    await sleep(20);
  }
  return true;
}

module.exports = { Traffic };
