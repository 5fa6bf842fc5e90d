'use strict';

// Checks that lib/platforms/ has an entry for each target, as `framemask/prebuilds/linux-x64` names
// it: a CommonJS module, an ES module, and the module that both load first to say where the addon
// is. That one must stand apart: webpack 5 runs index.js before the body of a module that requires
// it, and index.js looks for the addon at once.

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { TARGETS } = require('./prebuild/targets');

const USAGE = `usage: node scripts/lint-entries.js [--write] [--help]

Checks that lib/platforms/ is what scripts/prebuild/targets.js asks for. Exit code 1 if it is not.

  --write  write the files instead
  --help   print this`;

const FOLDER = path.join(__dirname, '../lib/platforms');

/** @returns {Map<string, string>} the text of each file, by its name in lib/platforms/ */
function expectedFiles() {
  return new Map(
    TARGETS.flatMap(({ name, file }) => [
      [
        `addons/${name}.js`,
        `'use strict';

require('../../masking/native').provideAddon(() => require('../../../prebuilds/${file}'));
`
      ],
      [
        `${name}.js`,
        `'use strict';

require('./addons/${name}');
module.exports = require('../../index.js');
`
      ],
      [
        `${name}.mjs`,
        `import './addons/${name}.js';

export * from '../../index.mjs';
export { default } from '../../index.mjs';
`
      ]
    ])
  );
}

/** @returns {Map<string, string>} likewise, of the files that are there */
function actualFiles() {
  const names = fs.readdirSync(FOLDER, { recursive: true }).filter((name) => /\.m?js$/.test(name));
  return new Map(names.map((name) => [name.replaceAll('\\', '/'), fs.readFileSync(path.join(FOLDER, name), 'utf8')]));
}

function main() {
  const { values } = parseArgs({ options: { write: { type: 'boolean' }, help: { type: 'boolean' } } });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const expected = expectedFiles();
  if (values.write) {
    fs.rmSync(FOLDER, { recursive: true, force: true });
    fs.mkdirSync(path.join(FOLDER, 'addons'), { recursive: true });
    for (const [name, text] of expected) fs.writeFileSync(path.join(FOLDER, name), text);
    return;
  }
  const actual = actualFiles();
  const wrong = [...new Set([...expected.keys(), ...actual.keys()])].filter(
    (name) => expected.get(name) !== actual.get(name)
  );
  for (const name of wrong) console.error(`lib/platforms/${name} is missing, extra or outdated: npm run format`);
  if (wrong.length > 0) process.exitCode = 1;
}

main();
