'use strict';

// The entries for bundlers, `framemask/prebuilds/linux-x64` and the like, which package.json finds
// in lib/platforms/. They are in the package only.

const fs = require('node:fs');
const path = require('node:path');
const { TARGETS } = require('./targets');

/**
 * The text of each file, by its path in the package. An entry is a CommonJS module, an ES module,
 * and the module that both load first to say where the addon is. That one must stand apart: webpack
 * 5 runs index.js before the body of a module that requires it, and index.js looks for the addon at
 * once.
 *
 * @type {Record<string, string>}
 */
const ENTRIES = Object.fromEntries(
  TARGETS.flatMap(({ name, file }) => [
    [
      `lib/platforms/addons/${name}.js`,
      `require('../../masking/native').provideAddon(() => require('../../../prebuilds/${file}'));
`
    ],
    [
      `lib/platforms/${name}.js`,
      `require('./addons/${name}');
module.exports = require('../../index.js');
`
    ],
    [
      `lib/platforms/${name}.mjs`,
      `import './addons/${name}.js';

export * from '../../index.mjs';
export { default } from '../../index.mjs';
`
    ]
  ])
);

/** Writes the entries anew. @param {string} root the folder of the package */
function writeEntries(root) {
  fs.rmSync(path.join(root, 'lib/platforms'), { recursive: true, force: true });
  fs.mkdirSync(path.join(root, 'lib/platforms/addons'), { recursive: true });
  for (const [file, text] of Object.entries(ENTRIES)) fs.writeFileSync(path.join(root, file), text);
}

module.exports = { ENTRIES, writeEntries };
