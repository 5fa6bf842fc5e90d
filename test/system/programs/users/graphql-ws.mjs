// graphql-ws, server and client: a query, subscriptions that end from either side, errors, and each
// close code of its protocol, which clients without its rules provoke.

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildSchema } from 'graphql';
import { CloseCode, createClient } from 'graphql-ws';
import { useServer } from 'graphql-ws/use/ws';
import { WebSocket, WebSocketServer } from 'ws';

const schema = buildSchema(`
  type Query { hello(name: String!): String!, long(length: Int!): String!, fails: String }
  type Subscription { count(to: Int!): Int!, endless: Int!, failsAt(at: Int!): Int! }
`);

let endlessOnes = 0;

const roots = {
  query: {
    hello: ({ name }) => `hello ${name}`,
    long: ({ length }) => 'é'.repeat(length),
    fails: () => {
      throw new Error('this field always fails');
    }
  },
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
    },
    async *failsAt({ at }) {
      for (let i = 1; i < at; i++) yield { failsAt: i };
      throw new Error(`failed at ${at}`);
    }
  }
};

async function listen() {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, path: '/graphql' });
  const handler = useServer(
    {
      schema,
      roots,
      connectionInitWaitTimeout: 200,
      onConnect: ({ connectionParams }) => connectionParams?.token !== 'forbidden'
    },
    server
  );
  await once(server, 'listening');
  return { handler, url: `ws://127.0.0.1:${server.address().port}/graphql` };
}

/** @returns {Promise<any[]>} all results of an operation; its error is the last one */
async function resultsOf(client, query, { most = Number.POSITIVE_INFINITY } = {}) {
  const results = [];
  try {
    for await (const { data, errors } of client.iterate({ query })) {
      results.push(errors ? { errors: errors.map(({ message }) => message), data } : data);
      // Leaving the loop sends Complete.
      if (results.length === most) break;
    }
  } catch (error) {
    results.push({ thrown: Array.isArray(error) ? error.map(({ message }) => message) : error.message });
  }
  return results;
}

async function operations(client) {
  const counted = await resultsOf(client, 'subscription { count(to: 300) }');
  const [{ long }] = await resultsOf(client, '{ long(length: 100000) }');
  const result = {
    query: await resultsOf(client, '{ hello(name: "wörld €😀") }'),
    long: [long.length, long === 'é'.repeat(100_000)],
    counted: [counted.length, counted.every(({ count }, i) => count === i + 1)],
    left: await resultsOf(client, 'subscription { endless }', { most: 3 }),
    fails: await resultsOf(client, '{ fails }'),
    failsAt: await resultsOf(client, 'subscription { failsAt(at: 3) }'),
    invalid: await resultsOf(client, '{ noSuchField }'),
    parallel: await Promise.all(
      Array.from({ length: 50 }, (_, i) => resultsOf(client, `subscription { count(to: ${i + 1}) }`))
    ).then((all) => all.map((results) => results.length))
  };
  while (endlessOnes > 0) await sleep(1);
  return result;
}

/** Unlike events.once(), it does not end with an error that comes before. */
const closeOf = (socket) => new Promise((resolve) => socket.once('close', (...args) => resolve(args)));

/**
 * Connects without graphql-ws's client.
 *
 * @param {string} url
 * @param {string[]} messages each is sent at once; `ack` waits for an answer
 * @param {string} [protocol]
 * @returns {Promise<string[]>} what came until the connection was closed
 */
async function rudeClient(url, messages, protocol = 'graphql-transport-ws') {
  const socket = new WebSocket(url, protocol);
  const events = [];
  socket.on('message', (data) => events.push(`${data}`.slice(0, 100)));
  socket.on('error', (error) => events.push(error.message));
  const closed = closeOf(socket);
  socket.on('open', async () => {
    for (const message of messages) {
      if (message === 'ack') await once(socket, 'message');
      else socket.send(message);
    }
  });
  const [code, reason] = await closed;
  return [...events, `${code} ${reason}`];
}

async function closeCodes(url) {
  const init = '{"type":"connection_init"}';
  const forever = '{"id":"1","type":"subscribe","payload":{"query":"subscription { endless }"}}';
  const forbidden = createClient({
    url,
    webSocketImpl: WebSocket,
    connectionParams: { token: 'forbidden' },
    retryAttempts: 0
  });
  const codes = {
    [CloseCode.BadRequest]: await rudeClient(url, ['not JSON']),
    [CloseCode.Unauthorized]: await rudeClient(url, [forever]),
    [CloseCode.Forbidden]: await new Promise((resolve) => {
      forbidden.subscribe(
        { query: '{ hello(name: "") }' },
        {
          error: ({ code, reason }) => resolve([code, reason]),
          next: resolve,
          complete: resolve
        }
      );
    }),
    [CloseCode.SubprotocolNotAcceptable]: await rudeClient(url, [], 'graphql-ws'),
    [CloseCode.ConnectionInitialisationTimeout]: await rudeClient(url, []),
    [CloseCode.TooManyInitialisationRequests]: await rudeClient(url, [init, 'ack', init]),
    [CloseCode.SubscriberAlreadyExists]: (await rudeClient(url, [init, 'ack', forever, forever])).at(-1)
  };
  await forbidden.dispose();
  return codes;
}

const { handler, url } = await listen();
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
const result = { operations: await operations(client), codes: await closeCodes(url) };
// Pings and pongs of its own go both ways.
await sleep(100);
// A client that leaves, and one that the server leaves.
const leaver = createClient({ url, webSocketImpl: WebSocket, lazy: false });
await resultsOf(leaver, '{ hello(name: "and goodbye") }');
await leaver.dispose();
await handler.dispose();
while (closes.length === 0) await sleep(1);
result.closes = closes;
result.endlessOnes = endlessOnes;
console.log(JSON.stringify(result));
