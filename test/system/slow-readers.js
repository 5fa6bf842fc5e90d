'use strict';

const { randomBytes } = require('node:crypto');
const { once } = require('node:events');
const { setTimeout: sleep } = require('node:timers/promises');
const { Connection } = require('../..');
const { WebSocket, WebSocketServer } = require('../../ws');
const { HTTP_SERVERS } = require('../support/http-servers');
const { pipePath } = require('../support/pipe-path');

const { OPEN } = WebSocket;
const HEARTBEAT = 10_000;
/** A download that takes a minute, six heartbeats. */
const SLOW = { bytesPerMs: 200, length: 12_000_000 };
/** A download without end. */
const FAST = { bytesPerMs: 5000, length: 100_000 };
/** Milliseconds until a message is heard: 5 on a quiet machine, and else never. */
const SOON = 2000;

/** Servers that call `open` with a connection, and `heard` with a message or the end. */
const DOORS = {
  Connection(server, { deflate, heartbeat }, open, heard) {
    const handlers = { onMessage: heard, onClose: (code) => heard(`close ${code}`) };
    server.on('upgrade', (...upgrade) => {
      const options = { heartbeat, deflate, maxBackpressure: Infinity, ...handlers };
      const peer = Connection.accept(...upgrade, options, { deflate });
      open(peer);
    });
  },
  'framemask/ws'(server, { deflate, heartbeat }, open, heard) {
    new WebSocketServer({ server, heartbeat, perMessageDeflate: deflate }).on('connection', (peer) => {
      peer.on('error', () => {});
      peer.on('message', (data) => heard(String(data))).on('close', (code) => heard(`close ${code}`));
      open(peer);
    });
  }
};

/** A client that reads so many bytes a millisecond. */
async function connect({ door, transport, deflate }, { bytesPerMs, heartbeat }, open, heard) {
  const server = HTTP_SERVERS[transport]();
  DOORS[door](server, { deflate, heartbeat }, open, heard);
  const path = pipePath({ teardown() {} });
  await once(server.listen(transport === 'pipe' ? { path } : { port: 0, host: '127.0.0.1' }), 'listening');
  const { port } = transport === 'pipe' ? {} : server.address();
  const url = transport === 'pipe' ? `ws+unix:${path}:/` : `${transport === 'TLS' ? 'wss' : 'ws'}://127.0.0.1:${port}`;
  const options = {
    rejectUnauthorized: false,
    http2: transport === 'HTTP/2',
    perMessageDeflate: deflate,
    maxPayload: 0
  };
  const client = new WebSocket(url, options);
  client.on('error', () => {});
  await once(client, 'open');
  const socket = client._socket;
  let due = performance.now();
  socket.on('data', (chunk) => {
    due = Math.max(due, performance.now()) + chunk.length / bytesPerMs;
    if (due - performance.now() < 1) return;
    socket.pause();
    setTimeout(() => socket.resume(), due - performance.now());
  });
  const end = () => {
    client.terminate();
    server.close();
  };
  return { client, end };
}

/** One message of a minute, with a heartbeat of 10 s. */
async function downloadSlowly(one) {
  const began = performance.now();
  let lost = null;
  const open = (peer) => peer.send(Buffer.alloc(SLOW.length));
  const connected = connect(one, { ...SLOW, heartbeat: HEARTBEAT }, open, (event) => {
    lost ??= event;
  });
  const { client, end } = await connected;
  const [data] = await Promise.race([once(client, 'message'), once(client, 'close').then(() => [Buffer.alloc(0)])]);
  const faults = data.length === SLOW.length ? [] : [`dropped (${lost})`];
  end();
  return { cells: [`${((performance.now() - began) / 1000).toFixed(0)} s`], faults };
}

/** Messages without end; the client says something, a Ping and a Close frame amid them. */
async function sayStop(one) {
  const data = randomBytes(FAST.length / 2).toString('hex');
  let peer;
  let heard = false;
  const open = (opened) => {
    peer = opened;
    const again = (error) => {
      if (!error) peer.send(data, again);
    };
    again();
    again();
  };
  const { client, end } = await connect(one, { ...FAST, heartbeat: 0 }, open, () => {
    heard = true;
  });
  /** @returns {Promise<number>} the milliseconds until something holds, 10 s at most */
  const until = async (isSo, began = performance.now()) => {
    while (!isSo() && performance.now() - began < 10_000) await sleep(1);
    return performance.now() - began;
  };
  // The buffers of the system fill.
  await sleep(500);
  client.send('stop');
  const stop = await until(() => heard);
  let hasPong = false;
  client.once('pong', () => {
    hasPong = true;
  });
  client.ping();
  await until(() => hasPong);
  client.close(1000);
  const close = await until(() => peer.readyState !== OPEN);
  end();
  const faults = [];
  if (stop > SOON) faults.push(`"stop" heard after ${stop.toFixed(0)} ms`);
  if (!hasPong) faults.push('no Pong in 10 s');
  if (close > SOON) faults.push(`the Close frame heard after ${close.toFixed(0)} ms`);
  return { cells: [`${stop.toFixed(0)}, ${close.toFixed(0)} ms`], faults };
}

module.exports = {
  summary: 'peers that read slowly: a heartbeat leaves them, and they are heard amid messages without end',
  details: `Both doors and four transports: one message of 12 MB at 200 KB/s with a heartbeat of 10 s, which takes a
minute, and messages without end at 5 MB/s, with compression and without.`,
  columns: ['time'],

  async run(_options, { results, progress }) {
    const ones = Object.keys(DOORS).flatMap((door) =>
      Object.keys(HTTP_SERVERS).map((transport) => ({ door, transport }))
    );
    for (const one of ones) {
      for (const deflate of [false, true]) {
        const title = `${one.door}, ${one.transport}, ${deflate ? 'compressed, ' : ''}without end: "stop" is heard`;
        await results.add(title, () => sayStop({ ...one, deflate }));
      }
    }
    progress('downloads of a minute, all at once');
    const downloads = ones.map((one) => downloadSlowly({ ...one, deflate: false }));
    for (const [i, { door, transport }] of ones.entries()) {
      await results.add(`${door}, ${transport}, 12 MB in a minute`, () => downloads[i]);
    }
  }
};
