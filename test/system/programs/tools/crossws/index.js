'use strict';

// crossws has ws in a file of its own, which register can't replace; its option `wss` can.

const { runNode, stage } = require('../../tool');

/** @returns {() => ReturnType<typeof runNode>} runs the server, with its option for a library */
const serve =
  (library, args, env = {}) =>
  () => {
    const folder = stage('crossws', library);
    return runNode(folder, ['--experimental-websocket', ...args, 'app.mjs'], { env });
  };

const REGISTER = ['--import', 'framemask/ws/register'];

/** @type {import('../../tool').Tool} */
module.exports = {
  name: 'crossws',
  packages: { crossws: '0.4.17' },
  cases: [
    {
      name: 'option wss',
      ways: [
        { name: 'ws', opened: 0, run: serve('ws', [], { WSS: '1' }) },
        { name: 'framemask/ws', opened: 1, run: serve('framemask/ws', [], { WSS: '1' }) },
        { name: 'register', opened: 1, run: serve('ws', REGISTER, { WSS: '1' }) }
      ]
    },
    {
      name: 'without wss',
      ways: [
        { name: 'ws', opened: 0, run: serve('ws', []) },
        { name: 'register', opened: 0, run: serve('ws', REGISTER) }
      ]
    }
  ]
};
