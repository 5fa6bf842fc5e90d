'use strict';

// How fast are messages encoded? framemask, on the addon and in JavaScript, beside the sending
// halves of ws (with bufferutil), websocket-driver and, for a client, undici. All work by turns, in
// one process, and write to a stand-in for a socket: see Sink in support/encode-rows.js.

const { runBenchmark } = require('./support/harness');
const { ENCODE_ROWS, createEncoder, prepareEncoding } = require('./support/encode-rows');
const { createDriver, loadFramemask, loadPeer } = require('./support/modules');
const { count } = require('./support/options');
const { timed } = require('./support/race');

const USAGE = `usage: node benchmark/encode.js [options]

Times the encoding of messages. Prints the median nanoseconds a message, and how many times faster framemask is than
ws. Takes about two minutes.`;

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
      for (const part of list) sink.write(part);
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
    const driver = createDriver();
    driver.io.on('data', (chunk) => sink.write(chunk));
    return { text: (data) => driver.text(data), binary: (data) => driver.binary(data), flush() {} };
  },
  undici(sink, { role }) {
    if (role === 'server') return null;
    const { WebsocketFrameSend } = loadPeer('undici', 'web/websocket/frame');
    return {
      text(data) {
        for (const part of WebsocketFrameSend.createFastTextFrame(Buffer.from(data))) sink.write(part);
      },
      binary: (data) => void sink.write(new WebsocketFrameSend(data).createFrame(2)),
      flush() {}
    };
  }
};

const PAIRS = [
  ['framemask', 'ws'],
  ['framemask js', 'ws']
];

runBenchmark({
  name: 'encode',
  usage: USAGE,
  options: { turn: count('<ms>', 'how long a turn of a candidate takes', 10, 2) },
  peers: ['bufferutil', 'ws', 'websocket-driver', 'undici'],
  sets: ({ turn }) => [
    {
      rows: Object.entries(ENCODE_ROWS).map(([name, work]) => ({
        name,
        group: `encode as a ${work.role}`,
        work,
        pairs: PAIRS
      })),
      start: () => ({
        candidates(row) {
          const frames = row.work.make();
          row.bytes = frames.reduce((sum, { payload }) => sum + payload.length, 0) / frames.length;
          const loops = Object.entries(CONTESTANTS)
            .map(([who, create]) => [who, prepareEncoding(who, create, row.work, frames)])
            .filter(([, loop]) => loop !== null);
          return timed(Object.fromEntries(loops), { turn, count: frames.length });
        }
      })
    }
  ]
});
