'use strict';

/**
 * What can't run in Bun or Deno: the runtimes, a file, the reason, and the tests. Without tests the
 * whole file is left out.
 */
const UNSUPPORTED = [
  [
    'deno',
    'test/sockets/processes.js',
    'does not end in Deno 2.9, in which a server in a worker is told to close; the cause is not known'
  ],
  [
    'bun',
    'test/sockets/handlers.js',
    'does not end in Bun 1.4, which reads by events; which of its tests is not known'
  ],
  ['bun', 'test/ws/fake-clocks.js', 'a context of Jest, whose loader finds no file for ws in Bun'],
  ['bun deno', 'test/sockets/flood.js', 'connections that are read by events: there is no shared memory to look for'],
  [
    'bun deno',
    'test/sockets/flow.js',
    'sockets that are paused or reset end otherwise: in Bun 1.4 two tests fail, in Deno 2.9 it does not end; and TLS is renegotiated'
  ],
  [
    'bun',
    'test/connection/handshake.js',
    "Bun 1.4 emits 'request' for an upgrade behind requests that are still being answered",
    'an upgrade after requests that are still being answered is refused in its turn'
  ],
  [
    'deno',
    'test/connection/deflate.js',
    'while setImmediate runs, Deno 2.9 reads a socket only after some 60 turns; Node.js does in each',
    'a peer is heard amid messages without end, which are compressed on the event loop',
    'a peer is heard amid messages without end, which are compressed in the thread pool'
  ],
  [
    'bun',
    'test/streams/messages.js',
    'a socket that is reset ends there without an error',
    'the loop ends when the peer ends the connection: reset, Connection'
  ],
  [
    'bun',
    'test/ws/tracing.js',
    'a socket that is reset ends there without an error',
    'framemask:close tells the codes and the error: a reset, framemask/ws',
    'framemask:close tells the codes and the error: a reset, Connection'
  ],
  [
    'deno',
    'test/ws/tracing.js',
    'FRAMEMASK_DEFLATE changes nothing there: ws compresses, framemask inflates',
    'a WebSocket that nobody listened to when it opened, and one that ws decodes'
  ],
  [
    'deno',
    'test/streams/drained.js',
    'zlib compresses there in later ticks: the bytes have left sooner than the test expects',
    'drained resolves when the bytes have left, {"perMessageDeflate":{"threshold":0}}, framemask/ws',
    'drained resolves when the bytes have left, {"perMessageDeflate":{"threshold":0}}, Connection'
  ],
  [
    'bun deno',
    'test/codec/decoder/memory.js',
    "process.memoryUsage() there says too little: Deno's leaves Buffers out, Bun's is coarse"
  ],
  [
    'bun deno',
    'test/hazards/addon.js',
    'only Node.js builds startup snapshots',
    'processes started from one snapshot share no ids and no masking keys'
  ],
  ['bun deno', 'test/ws/register.js', 'framemask/ws/register works in Node.js only, and says so'],
  ['bun deno', 'test/ws/shared-reads.js', 'sockets are read by events there'],
  [
    'bun',
    'test/ws/flushing.js',
    "Bun ends the connection of a server's request without calling its socket's destroy",
    'what was sent before message.destroy() of a socket that the program has kept is sent'
  ],
  [
    'bun',
    'test/ws/flushing.js',
    "the sockets of Bun's HTTP server are no net.Socket: each is given bytes of its own",
    'a write that replaces that of all sockets is not given memory that is used again',
    'a text for many sockets of which bytes wait is held once'
  ],
  [
    'bun deno',
    'test/ws/compression.js',
    "compares with ws's PerMessageDeflate, but Bun puts its own ws in its place; on Deno ws compresses"
  ],
  [
    'bun',
    'fuzz/test/differential.js',
    "compares with ws's Receiver, but Bun puts its own ws in place of ws, without a Receiver"
  ],
  [
    'bun',
    'test/frame-id.js',
    "Bun's own crypto module allocates when it is loaded",
    'memory is allocated by the first call that needs it'
  ],
  ['bun', 'test/frame-id.js', 'Bun mixes the lines that several processes write to one pipe', 'cluster'],
  [
    'bun',
    'test/masking/find-addon.js',
    'Bun downloads a missing package',
    'without node-gyp-build, as in a bundle, framemask runs on JavaScript'
  ],
  [
    'deno',
    'test/masking/mask.js',
    'Deno ignores --input-type=module, which the import needs',
    'FRAMEMASK_KERNEL names the kernel of a process, by require and by import'
  ],
  [
    'deno',
    'test/masking/find-addon.js',
    'runs a script by -e in a shell; Deno has deno eval instead',
    'an addon on a disk mounted noexec is not loaded'
  ],
  [
    'deno',
    'test/masking/native.js',
    'process.dlopen of Deno does not throw what an addon throws while it loads',
    'an addon that may not define its exports does not load'
  ],
  [
    'deno',
    'test/ws/compression-fallback.js',
    "Deno's zlib reports bad data as an empty result, and then as an error, after which a test does not end"
  ],
  [
    'deno',
    'test/ws/surface.js',
    'Deno runs no --require beside -e',
    'the ws that is installed is refused by an error that says so: none at all',
    'the ws that is installed is refused by an error that says so: one of an unsupported version',
    'the ws that is installed is refused by an error that says so: one before 8.10, which does not export its package.json',
    'the ws that is installed is refused by an error that says so: framemask/ws itself, by an alias',
    'the ws that is installed is refused by an error that says so: its file for browsers',
    'the ws that is installed is refused by an error that says so: framemask, under the name of ws',
    'the ws that is installed is refused by an error that says so: one without a private part that is needed'
  ],
  [
    'deno',
    'fuzz/test/differences.js',
    'on Deno ws compresses, in later ticks',
    'compressed messages are sent and received at once',
    'messages behind a final block that ends with its message are inflated',
    'messages behind an empty compressed one are inflated'
  ],
  [
    'deno',
    'test/ws/messages.js',
    "Deno's zlib reports bad data as an empty result, and then as an error",
    'a client sends bad compressed data'
  ]
];

module.exports = {
  UNSUPPORTED: UNSUPPORTED.map(([runtimes, file, reason, ...tests]) => ({
    runtimes: runtimes.split(' '),
    file,
    reason,
    tests
  }))
};
