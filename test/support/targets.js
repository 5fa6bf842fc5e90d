'use strict';

// What the tests of test/attacks/ share: a server in a process of its own, an attack on it, and a
// client that must be served meanwhile.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { setTimeout: sleep } = require('node:timers/promises');
const v8 = require('node:v8');
const vm = require('node:vm');
const { WebSocket } = require('ws');
const { Attacker } = require('./attacks/attacker');
const { attackNamed } = require('./attacks/attacks');
const { Target } = require('./attacks/target');
const { addon } = require('./natives');
const { seed } = require('./random');
const { TRIES_ALL } = require('./sample');

const MIB = 1024 * 1024;
/** Milliseconds after which a flood ends that the server does not read. */
const PATIENCE = 300;

/**
 * The echo server masks with the addon, if there is one, and in JavaScript; in a sample, in one of
 * the two by the seed.
 */
const KERNELS = addon === null ? ['js'] : TRIES_ALL ? ['', 'js'] : [['', 'js'][seed % 2]];

/**
 * Attacks the echo server of examples/, over the addon and in JavaScript, while another client is
 * served; and a server of framemask/ws, where the defence is the codec's.
 *
 * @param {object} t
 * @param {string} name of an attack of attacks/attacks.js
 * @param {object} options
 * @param {number} [options.connections] how many at once
 * @param {number} [options.bytes] the most that each of them sends
 * @param {number} [options.interval] milliseconds between the bytes of a slow connection
 * @param {object} [options.server] options of the server
 * @param {boolean} [options.onWs] whether a server of framemask/ws is attacked, too
 * @param {(t: object, result: { attacker: Attacker, library: string, target: Target,
 *   held: number, running: Promise<void> }) => Promise<void>} [options.check] called when the client has been
 *   served, with the bytes of memory that the server holds more than before
 */
function attackEchoServer(t, name, { connections = 5, bytes = MIB, interval, server = {}, onWs = false, check }) {
  const attacked = KERNELS.map((kernel) => ({ library: 'framemask', options: server, kernel }));
  // A connection that was refused need not be waited for as long as by default.
  if (onWs) attacked.push({ library: 'framemask/ws', options: { closeTimeout: 500 }, kernel: KERNELS[0] });
  for (const { library, options, kernel } of attacked) {
    t.test(`the server of ${library}, ${kernel || 'addon'}`, async (t) => {
      const target = await Target.start(library, { options, env: { FRAMEMASK_KERNEL: kernel } });
      t.teardown(() => target.stop());
      await assertServed(target.port);
      const before = await target.state();
      const attacker = new Attacker({ port: target.port, connections, bytes, interval, patience: PATIENCE });
      t.teardown(() => attacker.stop());
      const running = attacker.run(attackNamed(name));
      for (let i = 0; i < 5; i++) {
        await assertServed(target.port);
        await sleep(20);
      }
      const { held } = await target.state();
      await check?.(t, { attacker, library, target, running, held: held - before.held });
      await assertServed(target.port);
      attacker.stop();
      await running;
      t.pass('other clients were served');
    });
  }
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
  const [code] = await closed;
  assert.equal(code, 1000);
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
  while ((await target.state()).connections !== count) await sleep(20);
}

/**
 * @param {Attacker} attacker
 * @returns {number[]} the code of the Close frame with which each connection ended; 0 for none
 */
function closeCodes({ answers }) {
  return answers.map((bytes) => {
    const [first, length, high, low] = bytes.subarray(-4);
    return bytes.length >= 4 && first === 0x88 && length === 2 ? high * 256 + low : 0;
  });
}

v8.setFlagsFromString('--expose-gc');
const collectGarbage = vm.runInNewContext('gc');

/** @returns {number} the bytes that `make` returns something that holds */
function heldBy(make) {
  const use = () => {
    // The memory of Buffers is freed beside the first collection, and finished by the second.
    collectGarbage();
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = use();
  const kept = make();
  const held = use() - before;
  return kept === undefined ? 0 : held;
}

module.exports = { MIB, assertServed, attackEchoServer, closeCodes, heldBy, untilConnections };
