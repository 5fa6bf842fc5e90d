'use strict';

// One process of examples/rooms without Redis: what a connection and a delivery cost.

const { setTimeout: sleep } = require('node:timers/promises');
const { ServerProcess } = require('./processes');
const { SERVER } = require('./chat');
const { Traffic } = require('./traffic');

/** @returns {Promise<string[]>} faults */
async function measure(connections, tracing, options) {
  const { progress } = options;
  const args = connections === 'codec' ? [SERVER, '--codec'] : [SERVER];
  const server = new ServerProcess(args, { REDIS_URL: '', TRACING: tracing });
  await server.start();
  const traffic = new Traffic({ ...options, urls: [`ws://127.0.0.1:${server.port}/chat`] });
  try {
    const empty = await server.metrics();
    await traffic.join();
    await sleep(1000);
    const joined = await server.metrics();
    await traffic.talk(() => 1);
    const isSettled = await traffic.settle();
    const end = await server.metrics();
    const { deliveries, lost, repeated, outOfOrder } = traffic.verify();
    const grown = joined.get('rooms_resident_bytes') - empty.get('rooms_resident_bytes');
    const cpu = end.get('rooms_cpu_seconds_total') - joined.get('rooms_cpu_seconds_total');
    progress(
      `one process, ${connections}, tracing ${tracing}: ${joined.get('rooms_connections')} connections, ` +
        `${(joined.get('rooms_resident_bytes') / 2 ** 20).toFixed(0)} MiB, ${(grown / 2 ** 10 / options.clients).toFixed(1)} KiB ` +
        `for a connection; ${traffic.total} messages, ${deliveries} deliveries, ${cpu.toFixed(1)} s of CPU, ` +
        `${((cpu / deliveries) * 1e6).toFixed(1)} µs for a delivery; ${lost} lost, ${repeated} twice`
    );
    const faults = [];
    if (!isSettled || lost > 0) faults.push(`${connections}: ${lost} lost`);
    if (repeated > 0 || outOfOrder > 0) faults.push(`${connections}: ${repeated} twice, ${outOfOrder} out of order`);
    return faults;
  } finally {
    traffic.close();
    await server.stop();
  }
}

/** The options are those of testChat. */
async function testOne(options) {
  const faults = [];
  for (const connections of ['ws', 'codec']) {
    for (const tracing of ['off', 'on']) faults.push(...(await measure(connections, tracing, options)));
  }
  return faults;
}

module.exports = { testOne };
