'use strict';

// Checks that lib/platforms/ has an entry for each target, as `framemask/prebuilds/linux-x64` names
// it; with --write it writes them. An entry is a CommonJS module, an ES module, and the module that both
// load first to say where the addon is. That one must stand apart: webpack 5 runs index.js before the
// body of a module that requires it, and index.js looks for the addon at once.

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { TARGETS } = require('./prebuild/targets');

const FOLDER = 'lib/platforms';

process.chdir(path.join(__dirname, '..'));
const expected = new Map(
  TARGETS.flatMap(({ name, file }) => [
    [
      `${FOLDER}/addons/${name}.js`,
      `'use strict';

require('../../masking/native').provideAddon(() => require('../../../prebuilds/${file}'));
`
    ],
    [
      `${FOLDER}/${name}.js`,
      `'use strict';

require('./addons/${name}');
module.exports = require('../../index.js');
`
    ],
    [
      `${FOLDER}/${name}.mjs`,
      `import './addons/${name}.js';

export * from '../../index.mjs';
export { default } from '../../index.mjs';
`
    ]
  ])
);
const { write } = parseArgs({ options: { write: { type: 'boolean' } } }).values;
if (write) {
  fs.rmSync(FOLDER, { recursive: true, force: true });
  fs.mkdirSync(`${FOLDER}/addons`, { recursive: true });
  for (const [file, text] of expected) fs.writeFileSync(file, text);
}
const names = fs.readdirSync(FOLDER, { recursive: true }).filter((name) => /\.m?js$/.test(name));
for (const file of new Set([...expected.keys(), ...names.map((name) => path.posix.join(FOLDER, name))])) {
  if (fs.existsSync(file) && fs.readFileSync(file, 'utf8') === expected.get(file)) continue;
  console.error(`${file} is missing, extra or outdated: npm run format`);
  process.exitCode = 1;
}
