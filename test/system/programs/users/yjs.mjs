// Three Y.Docs of y-websocket that edit at once, over the server of @y/websocket-server: they must
// converge, also after one was cut off for a while.

import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { setupWSConnection } from '@y/websocket-server/utils';
import { WebSocket, WebSocketServer } from 'ws';
import { WebsocketProvider } from 'y-websocket';
import * as Y from 'yjs';

const server = http.createServer();
const sockets = new WebSocketServer({ noServer: true });
server.on('upgrade', (request, socket, head) => {
  sockets.handleUpgrade(request, socket, head, (ws) => setupWSConnection(ws, request));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `ws://127.0.0.1:${server.address().port}`;

class Person {
  constructor(name) {
    this.name = name;
    this.doc = new Y.Doc();
    this.text = this.doc.getText('text');
    this.map = this.doc.getMap('map');
    // Without disableBc the documents of a process would not need a connection.
    const options = { WebSocketPolyfill: WebSocket, disableBc: true, maxBackoffTime: 50 };
    this.provider = new WebsocketProvider(url, 'room', this.doc, options);
    this.provider.awareness.setLocalStateField('user', name);
  }

  /** Edits as a person who types, with pauses in which what the others typed comes in. */
  async type(count) {
    for (let i = 0; i < count; i++) {
      const at = (i * 7919) % (this.text.length + 1);
      if (i % 10 === 9) this.text.delete(Math.floor(at / 2), Math.min(3, this.text.length - Math.floor(at / 2)));
      else this.text.insert(at, `${this.name}${i} `);
      this.map.set(`${this.name}${i % 20}`, i);
      if (i % 25 === 0) await sleep(1);
    }
  }

  /** @returns {string} its state; the same for all who have the same document */
  state() {
    return JSON.stringify([this.text.toString(), Object.entries(this.map.toJSON()).sort()]);
  }
}

const people = ['a', 'b', 'c'].map((name) => new Person(name));
const [a, b, c] = people;

/** Waits until all have the same document. */
async function converge() {
  while (new Set(people.map((person) => person.state())).size > 1) await sleep(5);
  return true;
}

while (!people.every(({ provider }) => provider.synced)) await sleep(5);
await Promise.all(people.map((person) => person.type(500)));
const result = { together: await converge() };

// c edits alone while it has no connection, and a connection of b breaks.
c.provider.disconnect();
b.provider.ws.terminate();
await Promise.all(people.map((person) => person.type(200)));
result.apart = c.state() !== a.state();
c.provider.connect();
result.again = await converge();

// One update of 1 MiB, and a person who comes late.
a.map.set('large', 'x'.repeat(2 ** 20));
const late = new Person('d');
people.push(late);
result.late = await converge();
result.large = late.map.get('large').length;
result.keys = [...late.map.keys()].sort();

// A new state makes those present at once whom the others have dropped, and not in seconds.
for (const { name, provider } of people) provider.awareness.setLocalStateField('user', name);
while (a.provider.awareness.getStates().size < 4) await sleep(5);
late.provider.destroy();
while (a.provider.awareness.getStates().size > 3) await sleep(5);
console.log(JSON.stringify(result));
// The server's packages keep timers for seconds.
process.exit();
