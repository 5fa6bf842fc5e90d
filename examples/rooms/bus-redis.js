'use strict';

// Messages between processes, through one stream of Redis. Its publish/subscribe would lose what is
// said while a process is cut off from Redis; a stream is read on from the last id. Announcements,
// which are repeated, may be lost, and take publish/subscribe.

const { setTimeout: sleep } = require('node:timers/promises');
const { createClient, defineScript } = require('redis');

const STREAM = 'rooms';
const ANNOUNCEMENTS = 'rooms:announcements';
/** Messages that the stream keeps, about: what a process that was cut off can catch up with. */
const KEPT = 100_000;
/** Messages that a new process reads, for clients that come back to it. */
const RECENT = 10_000;
/** Messages of one reply of Redis. */
const BATCH = 1000;
/** Messages that are published in one step: Redis does nothing else meanwhile. */
const STEP = 200;
/** Messages that may wait to be published. With more, clients are sent away. */
const MAX_WAITING = 50_000;
/** Milliseconds. */
const BLOCK = 5000;
const RETRY_AFTER = 200;
/** Seconds after which a sender that has published nothing is forgotten. */
const FORGET_AFTER = 3600;

/**
 * Publishes messages in one step, but for those whose sender has published that number or a later
 * one. KEYS: the stream, and a key for the sender of each message; ARGV: number, room and body of
 * each.
 */
const publishNew = defineScript({
  SCRIPT: `
    local isNew = {}
    for i = 1, #KEYS - 1 do
      local sender, n, room, body = KEYS[i + 1], ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]
      if tonumber(n) > tonumber(redis.call('GET', sender) or '0') then
        redis.call('XADD', KEYS[1], 'MAXLEN', '~', ${KEPT}, '*', 'room', room, 'body', body)
        redis.call('SET', sender, n, 'EX', ${FORGET_AFTER})
        isNew[i] = 1
      else
        isNew[i] = 0
      end
    end
    return isNew`,
  parseCommand(parser, messages) {
    parser.push(String(messages.length + 1));
    parser.pushKey(STREAM);
    for (const { from } of messages) parser.pushKey(`${STREAM}:last:${from}`);
    for (const { n, room, body } of messages) parser.push(String(n), room, body);
  },
  transformReply: undefined
});

const entryOf = ({ id, message: { room, body } }) => ({ id, room, body });

/** Publishes the messages of many processes. Its methods are those of MemoryBus. */
class RedisBus {
  /** `report` is called with an error if Redis can't be reached. */
  constructor(url, report = () => {}) {
    // A connection that is silent for longer than XREAD blocks, or a Ping takes, is dead.
    const socket = { reconnectStrategy: (retries) => Math.min(2 ** retries * 20, 1000), socketTimeout: BLOCK * 3 };
    const scripts = { publishNew };
    this._writer = createClient({ url, socket, scripts, pingInterval: BLOCK, disableOfflineQueue: true });
    this._reader = createClient({ url, socket }); // of its own, because it waits in XREAD
    this._subscriber = createClient({ url, socket, pingInterval: BLOCK });
    for (const client of this._clients) client.on('error', report);
    this._report = report;
    this._reading = this._publishing = null;
    this._waiting = [];
    this._isClosed = false;
    this.lastId = '0-0';
  }

  get _clients() {
    return [this._writer, this._reader, this._subscriber];
  }

  get isReady() {
    return this._clients.every((client) => client.isReady);
  }

  async start(deliver, hear) {
    this._deliver = deliver;
    await Promise.all(this._clients.map((client) => client.connect()));
    await this._subscriber.subscribe(ANNOUNCEMENTS, hear);
    const latest = await this._reader.xRevRange(STREAM, '+', '-', { COUNT: RECENT });
    const recent = latest.reverse().map(entryOf);
    this.lastId = recent.at(-1)?.id ?? '0-0';
    const complete = recent.length < RECENT && (await this._isWhole());
    this._reading = this._read();
    return { recent, complete };
  }

  /** Whether nothing has been removed from the stream yet. Redis 7 and later knows. */
  async _isWhole() {
    if ((await this._reader.exists(STREAM)) === 0) return true;
    const { length, 'entries-added': added } = await this._reader.xInfoStream(STREAM);
    return length === added;
  }

  /** Delivers what is published, in the stream's order, and goes on where it was after an error. */
  async _read() {
    while (!this._isClosed) {
      try {
        const streams = await this._reader.xRead({ key: STREAM, id: this.lastId }, { BLOCK, COUNT: BATCH });
        for (const message of streams?.[0].messages ?? []) {
          this.lastId = message.id;
          this._deliver(entryOf(message));
        }
      } catch (error) {
        if (this._isClosed) return;
        this._report(error);
        await sleep(RETRY_AFTER);
      }
    }
  }

  publish(message) {
    if (this._waiting.length >= MAX_WAITING) return Promise.reject(new Error('Redis can not be reached'));
    return new Promise((resolve) => {
      this._waiting.push({ message, resolve });
      this._publishing ??= this._publishAll();
    });
  }

  /**
   * Publishes what waits, one batch after the other, so that a sender's messages stay in order. A
   * batch that may have been lost is sent again: what has been published is not published twice.
   */
  async _publishAll() {
    await null; // what the same turn publishes is one batch
    while (this._waiting.length > 0) {
      const batch = this._waiting.slice(0, STEP);
      try {
        const isNew = await this._writer.publishNew(batch.map(({ message }) => message));
        this._waiting.splice(0, batch.length);
        for (const [i, { resolve }] of batch.entries()) resolve(isNew[i] === 1);
      } catch (error) {
        if (!this._writer.isOpen) return; // closed: nobody waits for these any more
        this._report(error);
        await sleep(RETRY_AFTER);
      }
    }
    this._publishing = null;
  }

  announce(text) {
    // It is repeated: one that is lost does no harm.
    this._writer.publish(ANNOUNCEMENTS, text).catch(() => {});
  }

  /** Publishes what waits, within `timeout` milliseconds, and ends both connections. */
  async close(timeout = 5000) {
    await Promise.race([this._publishing, sleep(timeout, null, { ref: false })]);
    this._isClosed = true;
    for (const client of this._clients) client.destroy();
    await this._reading;
  }
}

module.exports = { RedisBus };
