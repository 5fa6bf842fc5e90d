'use strict';

// How fast are messages encoded? framemask, on the addon and in JavaScript, beside the sending
// halves of ws (with bufferutil), websocket-driver and, for a client, undici. All work by turns, in
// one process, and write to a stand-in for a socket: see Sink in support/encode-rows.js.

const { ENCODE_ROWS, createEncoder, prepareEncoding } = require('./support/encode-rows');
const { loadFramemask, loadPeer } = require('./support/modules');
const { measureEach } = require('./support/measure-each');
const { compareRace, race } = require('./support/race');
const { publish, reportLine, startReport } = require('./support/report');
const { formatNumber, formatTable } = require('./support/table');
const { warmUp } = require('./support/warm-up');

const USAGE = `usage: node benchmark/encode.js [options]

Times the encoding of messages. Prints the median nanoseconds a message, and how many times faster
framemask is than ws. Takes about two minutes.

  --only <text>     only the rows whose name has this in it
  --turn <ms>       how long a turn of a candidate takes (default 10)`;

/**
 * Keeps one of the options objects that ws makes for each frame alive. If a major collection runs
 * while there is none, V8 drops their hidden class, and each then costs 500 ns. Without this, about
 * half of the runs of this benchmark were affected; a busy server may not be.
 */
function keepShape(Sender, sender) {
  const { frame } = Sender;
  Sender.frame = (data, options) => {
    sender.kept = options;
    return frame(data, options);
  };
  sender.send('', { fin: true, binary: false, compress: false, mask: false }, undefined);
  Sender.frame = frame;
}

/** Each makes a sender that writes to the sink, or null if the package can't do the row's work. */
const CONTESTANTS = {
  framemask: (sink, row) => createEncoder(loadFramemask(), sink, row),
  'framemask js': (sink, row) => createEncoder(loadFramemask('js'), sink, row),
  ws(sink, { role, prepared }) {
    const { Sender } = loadPeer('ws');
    const sender = new Sender(sink);
    keepShape(Sender, sender);
    const send = (binary, data) =>
      sender.send(data, { fin: true, binary, compress: false, mask: role === 'client' }, undefined);
    const write = (list) => {
      sink.cork();
      for (const part of list) sink.write(part);
      sink.uncork();
    };
    return {
      // As ws's authors advise for a broadcast: https://github.com/websockets/ws/issues/617
      prepare: prepared
        ? (data) => Sender.frame(Buffer.from(data), { fin: true, rsv1: false, opcode: 1, mask: false, readOnly: true })
        : undefined,
      text: prepared ? write : (data) => send(false, data),
      binary: (data) => send(true, data),
      flush() {}
    };
  },
  'websocket-driver'(sink, { role, prepared }) {
    if (prepared || role === 'client') return null;
    const headers = { connection: 'Upgrade', upgrade: 'websocket', host: 'localhost' };
    Object.assign(headers, { 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' });
    const driver = loadPeer('websocket-driver').http({ method: 'GET', url: '/', headers });
    driver.start();
    driver.io.on('data', (chunk) => sink.write(chunk));
    return { text: (data) => driver.text(data), binary: (data) => driver.binary(data), flush() {} };
  },
  undici(sink, { role }) {
    if (role === 'server') return null;
    loadPeer('undici');
    const { WebsocketFrameSend } = require('undici/lib/web/websocket/frame');
    return {
      text(data) {
        for (const part of WebsocketFrameSend.createFastTextFrame(Buffer.from(data))) sink.write(part);
      },
      binary: (data) => void sink.write(new WebsocketFrameSend(data).createFrame(2)),
      flush() {}
    };
  }
};
/** Who is compared with whom. */
const PAIRS = [
  ['framemask', 'ws'],
  ['framemask js', 'ws']
];

/**
 * @returns {Promise<import('./support/report').Row>} `bytes` and `ns` a message
 */
async function measure(name, { rounds, turn }) {
  const row = ENCODE_ROWS[name];
  const frames = row.make();
  const candidates = Object.entries(CONTESTANTS)
    .map(([who, create]) => [who, prepareEncoding(who, create, row, frames)])
    .filter(([, loop]) => loop !== null);
  await warmUp(Object.fromEntries(candidates), turn * 20);
  const turns = await race(Object.fromEntries(candidates), { rounds, turn });
  return {
    name,
    group: `as a ${row.role}`,
    bytes: frames.reduce((sum, { payload }) => sum + payload.length, 0) / frames.length,
    ...compareRace(turns, PAIRS, frames.length)
  };
}

function formatRows(rows) {
  const names = Object.keys(CONTESTANTS);
  const ratios = ['times faster than ws', 'js, times faster than ws'];
  const head = ['a message', ...names.map((name) => `${name}, ns`), 'GB/s', ...ratios];
  const lines = rows.map(({ name, bytes, candidates, timesFaster }) => [
    name,
    ...names.map((who) => formatNumber(candidates[who]?.ns[1])),
    formatNumber(bytes / candidates.framemask.ns[1]),
    ...timesFaster.map(({ times }) => times[1].toFixed(2))
  ]);
  return formatTable(head, lines);
}

async function main() {
  const finish = await startReport('encode');
  const { rounds, quick, json, results: rows } = await measureEach(USAGE, ENCODE_ROWS, measure);

  const peers = ['bufferutil', 'ws', 'websocket-driver', 'undici'];
  const report = await finish({ quick, rounds, kernel: loadFramemask().kernel, peers, rows });
  publish(report, json, `${reportLine(report)}\n\n${formatRows(rows)}`);
}

main();
