'use strict';

const { openAddon } = require('../masking/native');
const modules = require('../shared/node-modules');

/**
 * Loads src/reactor/: the one that the user has compiled, or else the one in prebuilds/.
 *
 * @returns {{ open: Function }}
 * @throws {Error} if there is none for this platform, or it can't be loaded
 */
function findReactor() {
  const { fs, path } = modules;
  // Bun ends the process where an addon uses libuv.
  if (process.platform !== 'linux' || 'bun' in process.versions || 'deno' in process.versions) {
    throw new Error('Batched reads need Node.js on Linux');
  }
  const root = path.join(__dirname, '../..');
  const files = ['build/Release', `prebuilds/linux-${process.arch}`].map((folder) =>
    path.join(root, folder, 'reactor.so')
  );
  const file = files.find((each) => fs.existsSync(each));
  if (file === undefined) throw new Error(`No addon for batched reads on linux-${process.arch}`);
  return openAddon(file);
}

module.exports = { findReactor };
