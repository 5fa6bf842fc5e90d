'use strict';

// express-ws asks for ws 7. npm's overrides give it the program's ws 8. Without them register
// leaves ws 7 alone, and says so.

const fs = require('node:fs');
const path = require('node:path');
const { installPackages } = require('../../../../../scripts/support/install');
const { differences } = require('../../../support/results');
const { CACHE, runNode, stage } = require('../../tool');

const WS = '8.23.0';
const WS_7 = '7.5.14';
const PACKAGES = { express: '5.3.0', 'express-ws': '5.0.2', ws: WS };

/** By the version of ws that express-ws gets. It asks for any ws 7: the second fixes which. */
const OVERRIDES = { [WS]: { ws: WS }, [WS_7]: { 'express-ws': { ws: WS_7 } } };

/** Installs express-ws in a folder of its own. @returns {string} the folder */
function install(version) {
  const folder = path.join(CACHE, `express-ws-${version}`);
  installPackages(folder, PACKAGES, { overrides: OVERRIDES[version] });
  for (const name of ['framemask', 'node-gyp-build']) {
    const place = path.join(folder, 'node_modules', name);
    fs.rmSync(place, { recursive: true, force: true });
    fs.cpSync(path.join(CACHE, 'node_modules', name), place, { recursive: true });
  }
  return folder;
}

/** Runs the server. */
async function serve(version, args) {
  const folder = install(version);
  const project = stage('express-ws');
  for (const name of fs.readdirSync(project)) fs.copyFileSync(path.join(project, name), path.join(folder, name));
  const { result, ...run } = await runNode(folder, ['--experimental-websocket', ...args, 'app.js']);
  const [{ told, ...same }] = result;
  return { ...run, result: same, told, cell: `ws ${told.version}` };
}

const REGISTER = ['--require', 'framemask/ws/register'];

/** express-ws must have the ws that is meant. register must tell of each, and warn if it stays. */
const judgeWith =
  (version, leaves) =>
  ({ told, result }, reference) => {
    const isControl = result === reference.result;
    const copies = leaves ? [`${version} left`, `${WS} replaced`] : [`${WS} replaced`];
    const registered = { version, warnings: leaves ? ['FRAMEMASK_WARN_WS_LEFT'] : [], copies };
    return differences(told, isControl ? { version, warnings: [], copies: [] } : registered);
  };

/** @type {import('../../tool').Tool} */
module.exports = {
  name: 'express-ws',
  packages: {},
  cases: [
    {
      name: 'overrides',
      judge: judgeWith(WS, false),
      ways: [
        { name: 'ws', opened: 0, run: () => serve(WS, []) },
        { name: 'register', opened: 1, run: () => serve(WS, REGISTER) }
      ]
    },
    {
      name: 'ws 7',
      judge: judgeWith(WS_7, true),
      ways: [
        { name: 'ws', opened: 0, run: () => serve(WS_7, []) },
        { name: 'register', opened: 0, run: () => serve(WS_7, REGISTER) }
      ]
    }
  ]
};
