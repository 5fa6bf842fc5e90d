'use strict';

// Checks framemask/ws of a tarball, in projects with and without ws. The package managers do not
// install ws, which is an optional peer.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { ROOT } = require('./tarball');

const MISSING = /framemask\/ws works on ws, which is not installed: run `npm install ws`/;

/** Sends a message through a server and back, and prints it. */
const ECHO = `
const { WebSocket, WebSocketServer, report } = NAME;
const server = new WebSocketServer({ host: '127.0.0.1', port: 0 }, () => {
  const client = new WebSocket('ws://127.0.0.1:' + server.address().port);
  client.on('open', () => client.send('echo'));
  client.on('message', (data) => {
    console.log(String(data), report().kernel !== 'js', report().registered);
    client.close();
    server.close();
  });
});
server.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));
`;

/** A program, the options of Node.js that it is run with, and what it prints. */
const PROGRAMS = [
  { file: 'ws.cjs', code: ECHO.replace('NAME', "require('framemask/ws')"), options: [], prints: 'echo true false' },
  {
    file: 'ws.mjs',
    code: `import * as ws from 'framemask/ws';${ECHO.replace('NAME', 'ws')}`,
    options: [],
    prints: 'echo true false'
  },
  {
    file: 'registered.cjs',
    code: ECHO.replace('NAME', "require('ws')"),
    options: ['--import', 'framemask/ws/register'],
    prints: 'echo true true'
  },
  {
    file: 'registered.mjs',
    code: `import * as ws from 'ws';${ECHO.replace('NAME', 'ws')}`,
    options: ['--import', 'framemask/ws/register'],
    prints: 'echo true true'
  }
];

/**
 * @param {string} unpacked the folder of the package
 * @param {string} scratch a folder outside the checkout
 * @returns {string[]} what does not work
 */
function checkWs(unpacked, scratch) {
  const folder = path.join(scratch, 'ws');
  const modules = path.join(folder, 'node_modules');
  fs.cpSync(unpacked, path.join(modules, 'framemask'), { recursive: true });
  const add = (name) => fs.cpSync(path.join(ROOT, 'node_modules', name), path.join(modules, name), { recursive: true });
  add('node-gyp-build');
  for (const { file, code } of PROGRAMS) fs.writeFileSync(path.join(folder, file), code);
  const run = ({ file, options }) =>
    spawnSync(process.execPath, [...options, file], { cwd: folder, encoding: 'utf8', timeout: 60_000 });

  const faults = [];
  for (const program of PROGRAMS) {
    const { status, stderr } = run(program);
    if (status !== 1 || !MISSING.test(stderr))
      faults.push(`${program.file} does not say that there is no ws: ${stderr}`);
  }
  add('ws');
  for (const program of PROGRAMS) {
    const { stdout, stderr } = run(program);
    if (stdout !== `${program.prints}\n` || stderr !== '') faults.push(`${program.file} printed ${stdout}${stderr}`);
  }
  return faults;
}

module.exports = { checkWs };
