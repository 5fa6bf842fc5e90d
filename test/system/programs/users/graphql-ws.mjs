// graphql-ws, server and client: subscriptions that end from either side, and each close code of
// its protocol, which clients without its rules provoke.

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildSchema } from 'graphql';
import { CloseCode, createClient } from 'graphql-ws';
import { useServer } from 'graphql-ws/use/ws';
import { WebSocket, WebSocketServer } from 'ws';

const schema = buildSchema(`
  type Query { long(length: Int!): String! }
  type Subscription { count(to: Int!): Int!, endless: Int! }
`);

let endlessOnes = 0;

const roots = {
  query: { long: ({ length }) => 'é'.repeat(length) },
  subscription: {
    async *count({ to }) {
      for (let i = 1; i <= to; i++) yield { count: i };
    },
    async *endless() {
      endlessOnes++;
      try {
        for (let i = 1; ; i++) {
          yield { endless: i };
          await sleep(1);
        }
      } finally {
        endlessOnes--;
      }
    }
  }
};

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, path: '/graphql' });
const onConnect = ({ connectionParams }) => connectionParams?.token !== 'forbidden';
const handler = useServer({ schema, roots, connectionInitWaitTimeout: 200, onConnect }, server);
await once(server, 'listening');
const url = `ws://127.0.0.1:${server.address().port}/graphql`;

/** @returns {Promise<any[]>} the results of an operation, so many at most */
async function resultsOf(client, query, most = Number.POSITIVE_INFINITY) {
  const results = [];
  for await (const { data } of client.iterate({ query })) {
    results.push(data);
    // Leaving the loop sends Complete.
    if (results.length === most) break;
  }
  return results;
}

/**
 * Connects without graphql-ws's client.
 *
 * @param {string[]} messages each is sent at once; `ack` waits for an answer
 * @param {string} [protocol]
 * @returns {Promise<string>} how the connection was closed
 */
async function rudeClient(messages, protocol = 'graphql-transport-ws') {
  const socket = new WebSocket(url, protocol);
  socket.on('error', () => {});
  // Unlike events.once(), it does not end with an error that comes before.
  const closed = new Promise((resolve) => socket.once('close', (code, reason) => resolve(`${code} ${reason}`)));
  socket.on('open', async () => {
    for (const message of messages) {
      if (message === 'ack') await once(socket, 'message');
      else socket.send(message);
    }
  });
  return closed;
}

const init = '{"type":"connection_init"}';
const forever = '{"id":"1","type":"subscribe","payload":{"query":"subscription { endless }"}}';
const closes = [];
const client = createClient({
  url,
  webSocketImpl: WebSocket,
  lazy: false,
  retryAttempts: 0,
  keepAlive: 20,
  onNonLazyError: () => {},
  on: { closed: ({ code, reason }) => closes.push([code, reason]) }
});
const forbidden = createClient({
  url,
  webSocketImpl: WebSocket,
  connectionParams: { token: 'forbidden' },
  retryAttempts: 0
});
const refused = await resultsOf(forbidden, '{ long(length: 1) }').catch(({ code, reason }) => [code, reason]);
const counted = await resultsOf(client, 'subscription { count(to: 300) }');
const [{ long }] = await resultsOf(client, '{ long(length: 100000) }');
const result = {
  counted: [counted.length, counted.every(({ count }, i) => count === i + 1)],
  long: long === 'é'.repeat(100_000),
  left: await resultsOf(client, 'subscription { endless }', 3),
  parallel: await Promise.all(
    Array.from({ length: 50 }, async (_, i) => (await resultsOf(client, `subscription { count(to: ${i + 1}) }`)).length)
  ),
  codes: {
    [CloseCode.Forbidden]: refused,
    [CloseCode.BadRequest]: await rudeClient(['not JSON']),
    [CloseCode.Unauthorized]: await rudeClient([forever]),
    [CloseCode.SubprotocolNotAcceptable]: await rudeClient([], 'graphql-ws'),
    [CloseCode.ConnectionInitialisationTimeout]: await rudeClient([]),
    [CloseCode.TooManyInitialisationRequests]: await rudeClient([init, 'ack', init]),
    [CloseCode.SubscriberAlreadyExists]: await rudeClient([init, 'ack', forever, forever])
  }
};
// Pings and pongs of its own go both ways.
await sleep(100);
await handler.dispose();
while (closes.length === 0 || endlessOnes > 0) await sleep(1);
console.log(JSON.stringify({ ...result, closes }));
