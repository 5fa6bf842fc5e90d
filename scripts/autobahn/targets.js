'use strict';

// What Autobahn|Testsuite can be run on.

/**
 * @typedef {object} Target
 * @property {string} name
 * @property {string} agent its name in the suite's reports
 * @property {object} env of its processes
 * @property {string[]} server arguments of Node.js for an echo server that prints its address
 * @property {(url: string) => string[]} client the same for a client of that fuzzing server
 * @property {boolean} [reference] it is only there for others to be compared with
 */

/**
 * @param {string} kernel `addon`, or a value of FRAMEMASK_KERNEL
 * @returns {Target} the programs in examples/, which use that kernel, or fail
 */
function ofKernel(kernel) {
  const native = { FRAMEMASK_KERNEL: '', FRAMEMASK_REQUIRE_NATIVE: '1' };
  const agent = `framemask-${kernel}`;
  return {
    name: kernel,
    agent,
    env: kernel === 'addon' ? native : { FRAMEMASK_KERNEL: kernel },
    server: ['scripts/autobahn/server.js'],
    client: (url) => ['scripts/autobahn/client.js', url, agent]
  };
}

/**
 * @param {string} contexts `shared` or `takeover`: whether messages refer to those before them
 * @returns {Target} the programs of examples/deflate.js
 * @throws {RangeError} if it is something else
 */
function ofContexts(contexts) {
  if (!['shared', 'takeover'].includes(contexts)) throw new RangeError('--contexts must be of shared, takeover');
  const agent = `framemask-deflate-${contexts}`;
  return {
    name: `the codec, ${contexts} contexts`,
    agent,
    env: {},
    server: ['scripts/autobahn/server.js', contexts],
    client: (url) => ['scripts/autobahn/client.js', url, agent, contexts]
  };
}

/** From scripts/autobahn/. */
const LIBRARIES = { ws: 'ws', 'framemask/ws': '../../ws.js' };

/**
 * @param {string} name
 * @returns {Target} programs for `ws`, on that library
 * @throws {RangeError} if there is no such library
 */
function ofLibrary(name) {
  const library = LIBRARIES[name];
  if (library === undefined) throw new RangeError(`--library must be of ${Object.keys(LIBRARIES).join(', ')}`);
  const agent = name.replace('/', '-');
  return {
    name,
    agent,
    env: {},
    server: ['scripts/autobahn/ws-server.js', library],
    client: (url) => ['scripts/autobahn/ws-client.js', library, url, agent],
    reference: name === 'ws'
  };
}

module.exports = { ofContexts, ofKernel, ofLibrary };
