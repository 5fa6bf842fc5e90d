'use strict';

// Subscribes to framemask's diagnostics channels and prints the frames of a conversation between
// the echo server and a client. Neither of them contains code for it.
//
//     node examples/trace.js              prints a line for each frame
//     node examples/trace.js --json       prints the records of both ends as lines of JSON

const { channel } = require('node:diagnostics_channel');
const { parseArgs } = require('node:util');
const { Connection } = require('framemask');
const { createEchoServer } = require('./echo-server');

const USAGE = `usage: node examples/trace.js [--json] [--help]

Connects a client to the echo server, and prints each frame as it arrives.

  --json   print every record of framemask:frame and framemask:message as a line of JSON
  --help   print this`;

const OPCODES = { 0: 'continuation', 1: 'text', 2: 'binary', 8: 'close', 9: 'ping', 10: 'pong' };
const COLUMNS =
  '    ms  id of the frame                       from      to        nth  opcode        FIN  RSV  masked   bytes';

/** Prints every record as it is published. */
function printJson() {
  const print = (name) => (record) => console.log(JSON.stringify({ channel: name, ...record }));
  for (const name of ['framemask:frame', 'framemask:message']) channel(name).subscribe(print(name));
}

/** Prints a line for each frame when it arrives, with the id that its sender gave it. */
function printPage() {
  let start = Number.NaN;
  const sent = new Map();
  const brackets = { server: new Bracket(), client: new Bracket() };
  console.log(COLUMNS);

  channel('framemask:frame').subscribe((record) => {
    const { direction, from, role, sequence } = record;
    if (record.error !== null) {
      console.log(`  ${role}: ${record.error.message}`);
      return;
    }
    // There is one connection, so the sender and the sequence number identify a frame.
    const frame = `${from} ${sequence}`;
    if (direction === 'sent') {
      if (sent.size === 0) start = performance.now();
      sent.set(frame, record.id);
      return;
    }
    const { opcode, fin, rsv, masked, length } = record;
    console.log(
      [
        (performance.now() - start).toFixed(2).padStart(6),
        sent.get(frame),
        `${from} ──▶ ${role}`,
        String(sequence).padStart(4),
        OPCODES[opcode].padEnd(12),
        fin ? '  1' : '  0',
        String(rsv).padStart(3),
        masked ? '   yes' : '    no',
        String(length).padStart(6),
        brackets[role].next(opcode, fin, length)
      ]
        .join('  ')
        .trimEnd()
    );
  });
}

/** Draws a bracket beside the frames of a fragmented message. */
class Bracket {
  constructor() {
    this.fragments = 0;
    this.bytes = 0;
    this.kind = '';
  }

  next(opcode, fin, length) {
    if (opcode >= 8) return this.fragments > 0 ? '│' : '';
    if (opcode !== 0) {
      this.kind = OPCODES[opcode];
      this.fragments = 0;
      this.bytes = 0;
    }
    this.fragments++;
    this.bytes += length;
    if (!fin) return this.fragments === 1 ? '┐' : '┤';
    const note = this.fragments > 1 ? `┘ one ${this.kind} message of ${this.bytes} bytes` : '';
    this.fragments = 0;
    return note;
  }
}

/** Sends a text, a text in three frames with a Ping between, a binary message and a Close frame. */
async function converse(url, onClose) {
  let answers = 0;
  const connection = await Connection.connect(url, {
    onMessage() {
      if (++answers === 3) this.close(1000, 'that was all');
    },
    onError: (error) => console.error(error.message),
    onClose
  });
  connection.send('Hello');
  connection.send('A message ', { fin: false });
  connection.send('in ', { fin: false });
  connection.ping('still there?');
  connection.send('three fragments');
  connection.send(Buffer.alloc(70_000));
}

function main() {
  const { values } = parseArgs({ options: { json: { type: 'boolean' }, help: { type: 'boolean' } } });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  if (values.json) printJson();
  else printPage();
  const server = createEchoServer().listen(0, '127.0.0.1', () => {
    converse(`ws://127.0.0.1:${server.address().port}`, (code) => {
      process.exitCode = code === 1000 ? 0 : 1;
      server.close();
    });
  });
}

main();
