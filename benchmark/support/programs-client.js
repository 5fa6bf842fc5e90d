'use strict';

// The client process of programs.js: many WebSockets of plain ws, which speak what a program's
// clients speak at the least cost. It counts messages, and reads the server's processor time.

const { once } = require('node:events');
const net = require('node:net');
const { createRequire } = require('node:module');

const WebSocket = require('ws');
const { processorTime } = require('./process-use');

const need = createRequire(`${process.argv[2]}/main.js`);

/** MQTT 3.1.1, section 3: packets by the library that MQTT.js uses. */
const packet = (fields) => need('mqtt-packet').generate(fields);

/**
 * What a client of each program does: `begin` after the handshake, `take` with each message, which
 * returns an answer, true when the client is ready, or null. `counts` tells the messages that count.
 */
const CLIENTS = {
  ws: { begin: () => true, counts: () => true },
  'socket.io': {
    path: '/socket.io/?EIO=4&transport=websocket',
    take: (data) => (data[0] === 48 ? '40' : data[0] === 50 ? '3' : data[1] === 48 ? true : null),
    counts: (data) => data[0] === 52 && data[1] === 50
  },
  'graphql-ws': {
    protocol: 'graphql-transport-ws',
    begin: () => '{"type":"connection_init"}',
    take(data, client) {
      if (!`${data}`.includes('connection_ack')) return null;
      client.isReady = true;
      return '{"id":"1","type":"subscribe","payload":{"query":"subscription { news }"}}';
    },
    counts: (data) => data.includes('"next"')
  },
  'y-websocket': {
    path: '/doc',
    // Message 0, sync: 0 asks by a state vector, here an empty one; 2 is an update.
    take: (data) => (data[0] === 0 && data[1] === 0 ? Buffer.from([0, 0, 1, 0]) : data[1] === 1 ? true : null),
    counts: (data) => data[0] === 0 && data[1] === 2
  },
  MQTT: {
    protocol: 'mqtt',
    begin: (i) => packet({ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, clientId: `c${i}` }),
    // CONNACK is answered by SUBSCRIBE, SUBACK makes it ready.
    take: (data) =>
      data[0] === 0x20
        ? packet({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'news', qos: 0 }] })
        : data[0] === 0x90 || null,
    // A PUBLISH comes in several messages, of which the last is the payload.
    counts: (data) => data[0] === 0x7b
  }
};

/** The servers, each with its clients and what counts their messages. */
const servers = new Map();

function connect(port, { path = '/', protocol, begin, take, counts }, i, state) {
  return new Promise((resolve, reject) => {
    const options = { perMessageDeflate: false };
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocol ? [protocol] : [], options);
    const client = { socket, isReady: false };
    const act = (answer) => {
      if (answer === true) client.isReady = true;
      else if (answer) socket.send(answer);
      if (client.isReady) resolve(client);
    };
    socket.on('open', () => begin && act(begin(i)));
    socket.on('message', (data) => {
      if (client.isReady && counts(data)) state.received(client);
      else if (take) act(take(data, client));
    });
    socket.on('error', reject).on('close', () => reject(new Error('the server has closed a connection')));
  });
}

async function open({ id, kind, port, controlPort, count }) {
  const state = { received: () => {}, clients: [], control: net.connect(controlPort, '127.0.0.1') };
  await once(state.control, 'connect');
  for (let i = 0; i < count; i++) state.clients.push(await connect(port, CLIENTS[kind], i, state));
  state.control.write('o');
  const [opened] = await once(state.control, 'data');
  servers.set(id, state);
  return Number(opened);
}

/** Broadcasts one after the other, until the time is over. @returns {number} messages */
async function broadcast(state, end) {
  const { clients, control } = state;
  let messages = 0;
  while (performance.now() < end) {
    let left = clients.length;
    await new Promise((resolve) => {
      state.received = () => --left === 0 && resolve();
      control.write('b');
    });
    messages += clients.length;
  }
  return messages;
}

/** Each client sends again when it has its answer. @returns {number} messages */
function echo(state, end, message) {
  const { clients } = state;
  let messages = 0;
  let left = clients.length;
  return new Promise((resolve) => {
    state.received = ({ socket }) => {
      messages++;
      if (performance.now() < end) socket.send(message);
      else if (--left === 0) resolve(messages);
    };
    for (const { socket } of clients) socket.send(message);
  });
}

/** @returns {{ cost: number }} microseconds of the server's processor time for a message */
async function turn({ id, message, pid, milliseconds }) {
  const state = servers.get(id);
  const before = processorTime(pid);
  const end = performance.now() + milliseconds;
  const messages = await (message === undefined ? broadcast(state, end) : echo(state, end, message));
  state.received = () => {};
  return { cost: (processorTime(pid) - before) / messages };
}

const TASKS = { open, turn };

process.on('message', async ({ task, ...what }) => {
  try {
    process.send({ result: await TASKS[task](what) });
  } catch (error) {
    process.send({ error: error.message });
  }
});
