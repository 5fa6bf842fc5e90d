'use strict';

// Vitest leaves packages to Node.js, unless they are inlined, mocked or aliased.

const path = require('node:path');
const { CACHE, runNode, stage } = require('../../tool');
const { OPENED } = require('../exchange.cjs');

const VITEST = path.join(CACHE, 'node_modules/vitest/vitest.mjs');

/** Runs test files. */
const vitest = (library, files, env = {}) =>
  runNode(stage('vitest', library), [VITEST, 'run', ...files], { env: { NO_COLOR: '1', ...env } });

/** @type {import('../../tool').Tool} */
module.exports = {
  name: 'vitest',
  packages: { vitest: '4.1.12', vite: '8.3.8' },
  cases: [
    {
      name: 'inlined',
      ways: [
        { name: 'ws', opened: 0, run: () => vitest('ws', ['plain'], { INLINE: 'ws' }) },
        {
          name: 'framemask/ws',
          opened: OPENED,
          run: () => vitest('framemask/ws', ['plain', 'codec'], { INLINE: 'framemask' })
        }
      ]
    },
    {
      name: 'mocked',
      ways: [
        { name: 'ws', opened: 0, run: () => vitest('ws', ['mocked']) },
        { name: 'framemask/ws', opened: OPENED, run: () => vitest('framemask/ws', ['mocked', 'codec-mock']) }
      ]
    },
    {
      name: 'alias',
      ways: [
        { name: 'ws', opened: 0, run: () => vitest('ws', ['plain']) },
        { name: 'aliased', opened: OPENED, run: () => vitest('ws', ['plain'], { ALIAS: '1' }) },
        {
          name: 'aliased, inlined',
          opened: OPENED,
          run: () => vitest('ws', ['plain'], { ALIAS: '1', INLINE: 'framemask' })
        }
      ]
    }
  ]
};
