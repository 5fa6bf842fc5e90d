import { once } from 'node:events';
import { createServer } from 'node:http';
import nodeAdapter from 'crossws/adapters/node';
import ws, { WebSocketServer } from 'ws';
import { converse, warnings } from './client.cjs';
import { note, openedOf } from './exchange.cjs';

const wss = process.env.WSS === '1' ? new WebSocketServer({ noServer: true }) : undefined;
const adapter = nodeAdapter({ wss, hooks: { message: (peer, message) => peer.send(message.rawData) } });
const server = createServer().on('upgrade', adapter.handleUpgrade);
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const received = await converse(`ws://127.0.0.1:${server.address().port}`);
note({ received, warnings }, openedOf(ws));
process.exit();
