'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { setTimeout } = require('node:timers/promises');

const { startServer } = require('./echo-servers');
const { residentMemory } = require('./process-use');
const { median } = require('./statistics');

const file = (script) => path.join(__dirname, script);
/** Opened first, so that what all connections share is not weighed. */
const FIRST = 100;
/** Milliseconds in which a server collects its garbage several times. */
const SETTLED = 1500;

/** Sends a question to a process, and waits for its answer. */
async function ask(child, question) {
  child.send(question);
  return (await once(child, 'message'))[0];
}

/**
 * @typedef {Record<'heap' | 'external' | 'resident', number>} Weight bytes a connection
 *
 * @param {string} name of a module with the API of ws, or `socket alone`
 * @param {number} count how many connections are weighed
 * @returns {Promise<Record<'opened' | 'used', Weight>>} idle, and idle after an echo
 */
async function weighOnce(name, count) {
  const server = fork(file('ws-server.js'), [name, 'echo'], { execArgv: ['--expose-gc'] });
  const clients = fork(file('idle-clients.js'));
  try {
    const [{ port }] = await once(server, 'message');
    await ask(clients, { port, count: FIRST });
    if (name !== 'socket alone') await ask(clients, { port, count: 0 });
    const before = await ask(server, {});
    await ask(clients, { port, count });
    const opened = await ask(server, {});
    if (name !== 'socket alone') await ask(clients, { port, count: 0 });
    const used = await ask(server, {});
    const each = (after) =>
      Object.fromEntries(Object.keys(after).map((key) => [key, (after[key] - before[key]) / count]));
    return { opened: each(opened), used: each(used) };
  } finally {
    server.kill();
    clients.kill();
  }
}

/**
 * What an idle connection of a server holds besides its socket: servers are weighed by turns, and
 * one that has sockets alone is subtracted.
 *
 * @param {Record<string, string>} modules with the API of ws, by name
 * @param {number} count how many connections are weighed
 * @param {number} rounds
 * @returns {Promise<Record<string, Record<'opened' | 'used', Weight>>>} medians by name
 */
async function weighServer(modules, count, rounds) {
  const names = Object.keys(modules);
  const turns = Object.fromEntries(names.map((name) => [name, []]));
  const alone = [];
  for (let round = 0; round < rounds; round++) {
    alone.push(await weighOnce('socket alone', count));
    for (const name of names) turns[name].push(await weighOnce(modules[name], count));
  }
  const weigh = (list, state, key) => median(list.map((turn) => turn[state][key]));
  const besideSocket = (list, state) =>
    Object.fromEntries(
      ['heap', 'external', 'resident'].map((key) => [key, weigh(list, state, key) - weigh(alone, state, key)])
    );
  return Object.fromEntries(
    names.map((name) => [
      name,
      { opened: besideSocket(turns[name], 'opened'), used: besideSocket(turns[name], 'used') }
    ])
  );
}

/**
 * Weighs a whole process from outside, so that it may be any server.
 *
 * @param {import('./echo-servers').EchoServer} server
 * @param {number} count how many connections are weighed
 * @returns {Promise<Record<'opened' | 'used', number>>} resident bytes a connection, its socket
 *   included: idle, and idle after an echo
 */
async function weighProcess(server, count) {
  const { child, port } = await startServer(server, { text: 'buffer', upload: false, tls: null, collects: true });
  const clients = fork(file('idle-clients.js'));
  const settle = async () => {
    await setTimeout(SETTLED);
    return residentMemory(child.pid);
  };
  try {
    await ask(clients, { port, count: FIRST });
    await ask(clients, { port, count: 0 });
    const before = await settle();
    await ask(clients, { port, count });
    const opened = await settle();
    await ask(clients, { port, count: 0 });
    const used = await settle();
    return { opened: (opened - before) / count, used: (used - before) / count };
  } finally {
    child.kill();
    clients.kill();
  }
}

module.exports = { weighProcess, weighServer };
