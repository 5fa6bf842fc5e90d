'use strict';

// Attacks on the echo server of examples/, over the addon or in JavaScript, and on a server of
// framemask/ws, where the defence is the codec's. Each server is a process of its own, and another
// client must be served meanwhile. test/support/attacks/attacks.js has the attacks.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { setTimeout: sleep } = require('node:timers/promises');
const t = require('tap');
const { WebSocket } = require('ws');
const { Attacker } = require('../support/attacks/attacker');
const { EXTENSIONS, LENGTHS, SLOW_HEADERS, attackNamed } = require('../support/attacks/attacks');
const { Target } = require('../support/attacks/target');
const { Connection } = require('../../index.js');
const { head, startFalseServer } = require('../support/connections');
const { addon } = require('../support/natives');
const { TRIES_ALL } = require('../support/sample');

const MIB = 1024 * 1024;
/** Milliseconds after which a flood ends that the server does not read. */
const PATIENCE = 300;
/** All ways to mask, or in a sample that of the addon. */
const KERNELS = addon === null ? ['js'] : TRIES_ALL ? ['', 'js'] : [''];
/** Connections of the attacks that need many. */
const [SLOW, HALF_OPEN] = TRIES_ALL ? [200, 1000] : [50, 200];

const holds = (t, held, most) => t.ok(held < most, `${held} bytes held`);

/** Checks that the server drops connections with these close codes, and holds little. */
const refuses =
  (codesFor) =>
  async (t, { attacker, held, library, running }) => {
    await running;
    t.same(closeCodes(attacker).sort(), codesFor(library).sort());
    holds(t, held, 8 * MIB);
  };

/** Checks that the server holds at most this much, and that its heartbeat ends the connections. */
const dropsAt =
  (most) =>
  async (t, { held, target }) => {
    holds(t, held, most);
    await untilConnections(target, 0);
  };

/**
 * The attacks on a server with the same options, by name: how many connections there are, the most
 * bytes that each of them sends, and a check for when the client has been served. `held` is the
 * memory that the server holds more than before.
 */
const BY_DEFAULT = {
  'tiny-chunks': { bytes: TRIES_ALL ? 20_000 : 4000, check: async (t, { held }) => holds(t, held, 8 * MIB) },
  'tiny-fragments': { check: refuses(() => Array(5).fill(1008)) },
  'empty-fragments': { check: refuses(() => Array(5).fill(1008)) },
  'late-limits': { bytes: 4 * MIB, check: refuses(() => Array(5).fill(1009)) },
  'interleaved-control-frames': {
    async check(t, { attacker, held, library, running }) {
      await running;
      // With ws, a chunk of more than maxPendingAutoPongs Ping frames ends the connection.
      const codes = library === 'framemask' ? [1008] : [1008, 0];
      for (const code of closeCodes(attacker)) t.ok(codes.includes(code), `the close code ${code}`);
      holds(t, held, 8 * MIB);
    }
  },
  'wrapping-lengths': {
    connections: LENGTHS.length,
    // ws has one code for both.
    check: refuses((library) => LENGTHS.map((length) => (length >= 2n ** 63n && library === 'framemask' ? 1002 : 1009)))
  },
  // CVE-2026-2229: parameters that nobody checks, such as server_max_window_bits=1000, end the
  // process when the first compressed message comes. These servers negotiate no extension.
  'extension-parameters': {
    connections: EXTENSIONS.length,
    async check(t, { attacker, running }) {
      await running;
      t.notOk(attacker.answers.some((bytes) => bytes.includes('Extensions')));
      // RSV1 belongs to no extension then.
      t.same(closeCodes(attacker), Array(EXTENSIONS.length).fill(1002));
    }
  },
  // CVE-2024-37890: with more headers than Node.js counts, a handshake lacks those that a server
  // takes for granted.
  'many-headers': {
    async check(t, { attacker, running }) {
      await running;
      for (const answer of attacker.answers) t.match(String(answer), /^HTTP\/1\.1 4\d\d /);
    }
  },
  // CVE-2021-32640, and CVE-2020-7662 of websocket-extensions: patterns that take a time in
  // proportion to the square of a header's length. One handshake would take about 0.2 s.
  'slow-headers': {
    connections: 20 * SLOW_HEADERS.length,
    async check(t, { attacker, cpu, running, target }) {
      await running;
      const answers = attacker.answers.filter((answer) => /^HTTP\/1\.1 \d/.test(answer));
      t.equal(answers.length, attacker.connections, 'answers');
      const taken = (await target.state()).cpu - cpu;
      t.ok(taken < 2, `100 handshakes took ${taken} s`);
    }
  }
};

const WITH_HEARTBEAT = {
  // CVE-2026-62389: many connections, each with a message of nearly as many fragments as are
  // allowed.
  'unfinished-fragments': { connections: 50, check: dropsAt(16 * MIB) },
  // One echo of 512 KiB for each, and the message after it as far as it was read.
  'unread-echoes': { connections: 25, bytes: 32 * MIB, check: dropsAt(25 * MIB) },
  'unread-pongs': { bytes: 32 * MIB, check: dropsAt(16 * MIB) },
  // Slowloris: they stop in the middle of the message, and are silent then.
  'slow-bytes': { connections: SLOW, bytes: 50, interval: 20, check: dropsAt(SLOW * 32 * 1024) }
};

const WITH_TIMEOUTS = { 'half-open-connections': { connections: HALF_OPEN, check: dropsAt(HALF_OPEN * 32 * 1024) } };

const TIMEOUTS = { headersTimeout: 1000, requestTimeout: 1000, connectionsCheckingInterval: 200, heartbeat: 1000 };

attackServer('framemask', {}, BY_DEFAULT);
attackServer('framemask', { heartbeat: 500 }, WITH_HEARTBEAT);
attackServer('framemask', TIMEOUTS, WITH_TIMEOUTS);
// A connection that was refused need not be waited for as long as by default.
attackServer('framemask/ws', { closeTimeout: 500 }, { ...BY_DEFAULT, 'slow-headers': undefined });

function attackServer(library, options, attacks) {
  for (const kernel of library === 'framemask' ? KERNELS : KERNELS.slice(0, 1)) {
    t.test(`${library}, ${kernel || 'addon'}, ${JSON.stringify(options)}`, async (t) => {
      const target = await Target.start(library, { options, env: { FRAMEMASK_KERNEL: kernel } });
      t.teardown(() => target.stop());
      await assertServed(target.port);
      for (const [name, attack] of Object.entries(attacks)) {
        if (attack) await t.test(name, (t) => attackTarget(t, { library, target, name, ...attack }));
      }
    });
  }
}

async function attackTarget(t, { library, target, name, connections = 5, bytes = MIB, interval, check }) {
  const before = await target.state();
  const attacker = new Attacker({ port: target.port, connections, bytes, interval, patience: PATIENCE });
  t.teardown(() => attacker.stop());
  const running = attacker.run(attackNamed(name));
  for (let i = 0; i < 5; i++) {
    await assertServed(target.port);
    await sleep(20);
  }
  const held = (await target.state()).held - before.held;
  await check(t, { attacker, library, target, running, held, cpu: before.cpu });
  await assertServed(target.port);
  attacker.stop();
  await running;
  await untilConnections(target, 0);
  t.equal(attacker.opened, connections, 'connections of the attack');
}

/** Connects a client of ws, and gets messages back from the server. */
async function useServer(port) {
  const client = new WebSocket(`ws://127.0.0.1:${port}`);
  const closed = once(client, 'close');
  const ended = closed.then(([code]) => Promise.reject(new Error(`the client was closed with ${code}`)));
  const next = (event) => Promise.race([once(client, event), ended]);
  ended.catch(() => {});
  await next('open');
  for (const message of ['Hello', 'x'.repeat(70_000)]) {
    client.send(message);
    const [data] = await next('message');
    assert.equal(String(data), message);
  }
  client.close(1000);
  assert.equal((await closed)[0], 1000);
}

/**
 * Whether the server still serves others. On a busy machine this process may answer a Ping frame of
 * a short heartbeat too late, and is dropped as it should be: so it tries again.
 */
async function assertServed(port) {
  for (let attempt = 1; ; attempt++) {
    try {
      await useServer(port);
      return;
    } catch (error) {
      if (attempt === 5) throw error;
    }
  }
}

/** Waits until the server has this many connections. */
async function untilConnections(target, count) {
  while ((await target.connections()) !== count) await sleep(20);
}

/** @returns {number[]} the code of the Close frame with which each connection ended; 0 for none */
function closeCodes({ answers }) {
  return answers.map((bytes) => {
    const [first, length, high, low] = bytes.subarray(-4);
    return bytes.length >= 4 && first === 0x88 && length === 2 ? high * 256 + low : 0;
  });
}

t.test('extension-parameters: the client refuses an answer with an extension', async (t) => {
  for (const offer of EXTENSIONS) {
    const url = await startFalseServer(t, (socket, lines) => {
      socket.write(head(...lines, `Sec-WebSocket-Extensions: ${offer}`));
    });
    await t.rejects(Connection.connect(url), /extension/);
  }
});
