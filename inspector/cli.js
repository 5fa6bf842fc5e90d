#!/usr/bin/env node
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');

const DEFAULT_PORT = 7455;

const USAGE = `usage: framemask-inspector [--port <port>] [<file>...]

Shows WebSocket frames on a page of 127.0.0.1: what is pasted there, captures (pcap and pcapng, with tshark), records of
framemask:frame as JSON lines, and those of running programs. The files are opened at once; several must be records, of
the ends of the same connections.

  --port <port>  of 127.0.0.1; 0 for any that is free. Default: ${DEFAULT_PORT}
  --help         print this`;

async function main() {
  const { values, positionals } = parseArgs({
    options: { port: { type: 'string' }, help: { type: 'boolean' } },
    allowPositionals: true
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const port = Number(values.port ?? DEFAULT_PORT);
  if (!Number.isInteger(port) || port < 0 || port > 65535) throw new RangeError('--port is a number up to 65535');
  const { Inspector } = require('./lib/inspector');
  const inspector = new Inspector();
  const url = await inspector.listen(port).catch((error) => {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new Error(`port ${port} is in use: --port 0 takes another`);
  });
  for (const [i, file] of positionals.entries()) {
    await inspector.open({ data: fs.readFileSync(file), name: path.basename(file), add: i > 0 });
  }
  console.log(`The page: ${url}\nLive, from a program: ${inspector.liveCommand}`);
  console.log('A program on ws sends records with --import framemask/ws/register, too.');
}

main().catch((error) => {
  console.error(`framemask-inspector: ${error.message}`);
  process.exit(1);
});
