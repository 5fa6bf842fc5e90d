'use strict';

// Servers that people run, by their own packages: the arguments are the folder in which these are
// installed, and which server. Prints its port and that of a connection on which the client asks:
// each byte "b" for a broadcast, "o" for how many connections framemask has opened.

const { once } = require('node:events');
const http = require('node:http');
const { createRequire } = require('node:module');
const net = require('node:net');

const [folder, name] = process.argv.slice(2);
/** Of the installed packages. */
const need = createRequire(`${folder}/main.js`);

const TEXT = JSON.stringify({ id: 123_456, user: 'somebody', text: 'a short message' });

/** Each takes an HTTP server, and returns what broadcasts, if the program does. */
const PROGRAMS = {
  'ws, string': (server) => broadcastByWs(server, () => TEXT),
  'ws, Buffer': (server) => broadcastByWs(server, () => Buffer.from(TEXT)),

  'ws, echo'(server) {
    const { WebSocketServer } = need('ws');
    new WebSocketServer({ server }).on('connection', (socket) =>
      socket.on('message', (data, binary) => socket.send(data, { binary }))
    );
  },

  'socket.io'(server) {
    const io = new (need('socket.io').Server)(server, { transports: ['websocket'] });
    io.on('connection', (socket) => {
      socket.join('room');
      socket.on('echo', (data) => socket.emit('echo', data));
    });
    return () => io.to('room').emit('news', TEXT);
  },

  'graphql-ws'(server) {
    const { GraphQLObjectType, GraphQLSchema, GraphQLString } = need('graphql');
    const { useServer } = need('graphql-ws/use/ws');
    const waiting = [];
    async function* news() {
      for (;;) yield { news: await new Promise((resolve) => waiting.push(resolve)) };
    }
    const ofString = (more) => ({ type: GraphQLString, ...more });
    const schema = new GraphQLSchema({
      query: new GraphQLObjectType({ name: 'Query', fields: { none: ofString() } }),
      subscription: new GraphQLObjectType({ name: 'Subscription', fields: { news: ofString({ subscribe: news }) } })
    });
    useServer({ schema }, new (need('ws').WebSocketServer)({ server }));
    return () => {
      for (const resolve of waiting.splice(0)) resolve(TEXT);
    };
  },

  'y-websocket'(server) {
    const { docs, setupWSConnection } = need('@y/websocket-server/utils');
    new (need('ws').WebSocketServer)({ server }).on('connection', (...args) => setupWSConnection(...args));
    return () => docs.get('doc').getText('text').insert(0, 'word ');
  },

  async MQTT(server) {
    const { Aedes } = need('aedes');
    const { WebSocketServer, createWebSocketStream } = need('ws');
    const broker = await Aedes.createBroker();
    const handleProtocols = () => 'mqtt';
    new WebSocketServer({ server, handleProtocols }).on('connection', (socket) =>
      broker.handle(createWebSocketStream(socket).on('error', () => {}))
    );
    return () => broker.publish({ cmd: 'publish', topic: 'news', payload: TEXT, qos: 0, retain: false });
  }
};

function broadcastByWs(server, create) {
  const { clients } = new (need('ws').WebSocketServer)({ server });
  return () => {
    const data = create();
    for (const client of clients) client.send(data);
  };
}

/** Of a process with framemask/ws/register: the client checks whether framemask/ws is in use. */
const opened = () => (process.execArgv.includes('--import') ? need('framemask/ws').report().connections.opened : 0);

async function main() {
  const server = http.createServer((_, response) => response.end());
  const broadcast = await PROGRAMS[name](server);
  const control = net.createServer((socket) =>
    socket.on('data', (bytes) => {
      for (const byte of `${bytes}`) {
        if (byte === 'b') broadcast();
        else socket.write(`${opened()}`);
      }
    })
  );
  for (const one of [server, control]) await once(one.listen(0, '127.0.0.1'), 'listening');
  console.log(server.address().port, control.address().port);
}

main();
