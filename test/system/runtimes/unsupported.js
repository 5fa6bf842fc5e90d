'use strict';

/**
 * What can't run in Bun or Deno. Without `tests` the whole file is left out.
 *
 * @type {{ runtimes: string[], file: string, tests?: string[], reason: string }[]}
 */
const UNSUPPORTED = [
  {
    runtimes: ['deno'],
    file: 'test/sockets/processes.js',
    reason: 'does not end in Deno 2.9, in which a server in a worker is told to close; the cause is not known'
  },
  {
    runtimes: ['bun'],
    file: 'test/sockets/handlers.js',
    reason: 'does not end in Bun 1.4, which reads by events; which of its tests is not known'
  },
  {
    runtimes: ['bun', 'deno'],
    file: 'test/sockets/flood.js',
    reason: 'connections that are read by events: there is no shared memory to look for'
  },
  {
    runtimes: ['bun', 'deno'],
    file: 'test/sockets/flow.js',
    reason:
      'sockets that are paused or reset end otherwise: in Bun 1.4 two tests fail, in Deno 2.9 it does not end;' +
      ' and TLS is renegotiated'
  },
  {
    runtimes: ['deno'],
    file: 'test/ws/ready.js',
    tests: ['ready resolves when the bytes have left, {"perMessageDeflate":{"threshold":0}}'],
    reason: 'ws compresses there, in the thread pool: the bytes have left sooner than the test expects'
  },
  {
    runtimes: ['bun', 'deno'],
    file: 'test/codec/decoder/memory.js',
    reason: "process.memoryUsage() there says too little: Deno's leaves Buffers out, Bun's is coarse"
  },
  {
    runtimes: ['bun', 'deno'],
    file: 'test/hazards/addon.js',
    tests: ['processes started from one snapshot share no ids and no masking keys'],
    reason: 'only Node.js builds startup snapshots'
  },
  {
    runtimes: ['bun', 'deno'],
    file: 'test/ws/register.js',
    reason: 'framemask/ws/register works in Node.js only, and says so'
  },
  {
    runtimes: ['bun', 'deno'],
    file: 'test/ws/shared-reads.js',
    reason: 'sockets are read by events there'
  },
  {
    runtimes: ['bun'],
    file: 'test/ws/flushing.js',
    tests: ['what was sent before message.destroy() of a socket that the program has kept is sent'],
    reason: "Bun ends the connection of a server's request without calling its socket's destroy"
  },
  {
    runtimes: ['bun'],
    file: 'test/ws/flushing.js',
    tests: [
      'a write that replaces that of all sockets is not given memory that is used again',
      'a text for many sockets of which bytes wait is held once'
    ],
    reason: "the sockets of Bun's HTTP server are no net.Socket: each is given bytes of its own"
  },
  {
    runtimes: ['bun', 'deno'],
    file: 'test/ws/compression.js',
    reason: "compares with ws's PerMessageDeflate, but Bun puts its own ws in its place; on Deno ws compresses"
  },
  {
    runtimes: ['bun'],
    file: 'fuzz/test/differential.js',
    reason: "compares with ws's Receiver, but Bun puts its own ws in place of ws, without a Receiver"
  },
  {
    runtimes: ['bun'],
    file: 'test/frame-id.js',
    tests: ['memory is allocated by the first call that needs it'],
    reason: "Bun's own crypto module allocates when it is loaded"
  },
  {
    runtimes: ['bun'],
    file: 'test/frame-id.js',
    tests: ['cluster'],
    reason: 'Bun mixes the lines that several processes write to one pipe'
  },
  {
    runtimes: ['bun'],
    file: 'test/masking/find-addon.js',
    tests: ['without node-gyp-build, as in a bundle, framemask runs on JavaScript'],
    reason: 'Bun downloads a missing package'
  },
  {
    runtimes: ['deno'],
    file: 'test/masking/mask.js',
    tests: ['FRAMEMASK_KERNEL names the kernel of a process, by require and by import'],
    reason: 'Deno ignores --input-type=module, which the import needs'
  },
  {
    runtimes: ['deno'],
    file: 'test/masking/find-addon.js',
    tests: ['an addon on a disk mounted noexec is not loaded'],
    reason: 'runs a script by -e in a shell; Deno has deno eval instead'
  },
  {
    runtimes: ['deno'],
    file: 'test/masking/native.js',
    tests: ['an addon that may not define its exports does not load'],
    reason: 'process.dlopen of Deno does not throw what an addon throws while it loads'
  },
  {
    runtimes: ['deno'],
    file: 'test/ws/compression-fallback.js',
    reason: "Deno's zlib reports bad data as an empty result, and then as an error, after which a test does not end"
  },
  {
    runtimes: ['deno'],
    file: 'test/ws/surface.js',
    tests: [
      'the ws that is installed is refused by an error that says so: none at all',
      'the ws that is installed is refused by an error that says so: one of an unsupported version',
      'the ws that is installed is refused by an error that says so: one without a private part that is needed'
    ],
    reason: 'Deno runs no --require beside -e'
  },
  {
    runtimes: ['deno'],
    file: 'fuzz/test/differences.js',
    tests: [
      'compressed messages are sent and received at once',
      'messages behind a final block that ends with its message are inflated',
      'messages behind an empty compressed one are inflated'
    ],
    reason: 'on Deno ws compresses, in a thread pool'
  },
  {
    runtimes: ['deno'],
    file: 'test/ws/messages.js',
    tests: ['ws: a client sends bad compressed data', 'framemask/ws: a client sends bad compressed data'],
    reason: "Deno's zlib reports bad data as an empty result, and then as an error"
  }
];

module.exports = { UNSUPPORTED };
