'use strict';

// Programs whose frames the tests look at.

const { execFile } = require('node:child_process');
const path = require('node:path');
const { promisify } = require('node:util');

const ROOT = path.join(__dirname, '../..');

/** Both ends of a framemask/ws connection in one process: prints the records of both. */
const TRACED = `
  const { subscribe } = require('node:diagnostics_channel');
  const { WebSocket, WebSocketServer } = require(${JSON.stringify(path.join(ROOT, 'ws.js'))});
  for (const name of ['framemask:frame', 'framemask:message']) subscribe(name, (record) => console.log(JSON.stringify(record)));
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 }, () => {
    server.on('connection', (socket) => socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary })));
    const client = new WebSocket('ws://127.0.0.1:' + server.address().port);
    let answers = 0;
    client.on('open', () => {
      client.send('Hello');
      client.send('in ', { fin: false });
      client.ping('between');
      client.send('two fragments');
      client.send(Buffer.alloc(70000));
    });
    client.on('message', () => { if (++answers === 3) client.close(1000, 'bye'); });
    client.on('close', () => server.close());
  });
`;

/** @returns {Promise<{ lines: string[], ends: { frames: number } }>} the records of both ends */
async function runTrace() {
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', TRACED], { cwd: ROOT });
  const lines = stdout.trim().split('\n');
  const sent = lines
    .map((line) => JSON.parse(line))
    .filter((record) => record.direction === 'sent' && 'opcode' in record);
  return { lines, ends: { frames: sent.length } };
}

module.exports = { ROOT, runTrace };
