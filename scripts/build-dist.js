'use strict';

// Makes dist/, which is what the package's users load: index.js and what is in lib/, in one folder, without the comments
// and with short names for what is local to a function, a third of the size. Names of functions, classes and properties stay
// as they are, so that stacks and profiles can be read.

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { minify } = require('terser');
const { TARGETS } = require('./prebuild/targets');

const USAGE = `usage: node scripts/build-dist.js [--help]

Makes dist/ of index.js, lib/ and the types: what is published. npm runs it after an install and before a pack.

  --help  print this`;

const ROOT = path.join(__dirname, '..');
const DIST = path.join(ROOT, 'dist');

/**
 * An entry for one platform, for `require` and for `import`. The addon is handed over in a file of its own, and an ES module
 * has an entry that is one, since bundlers may run what a CommonJS file requires before the file itself (webpack does, where
 * it joins modules). index.js is named in full, since they may look for index.mjs first (@rollup/plugin-node-resolve does).
 *
 * @param {string} name of the platform
 * @param {string} file below prebuilds/; the `require` of it is one that a bundler can follow
 * @returns {Record<string, string>} by file names below dist/
 */
function platformEntry(name, file) {
  return {
    [`addons/${name}.js`]: `'use strict';
require('../provided.js').load = () => require('../../prebuilds/${file}');
`,
    [`prebuilds/${name}.js`]: `'use strict';
require('../addons/${name}.js');
module.exports = require('../index.js');
`,
    [`prebuilds/${name}.mjs`]: `import '../addons/${name}.js';
export * from '../index.mjs';
export { default } from '../index.mjs';
`
  };
}

/** @returns {Record<string, string>} by file names below dist/ */
function readSources() {
  const sources = {};
  for (const name of fs.readdirSync(path.join(ROOT, 'lib'))) {
    sources[name] = fs.readFileSync(path.join(ROOT, 'lib', name), 'utf8');
  }
  sources['index.js'] = fs
    .readFileSync(path.join(ROOT, 'index.js'), 'utf8')
    .replaceAll("require('./lib/", "require('./");
  for (const { name, file } of TARGETS) Object.assign(sources, platformEntry(name, file));
  return sources;
}

async function main() {
  const { values } = parseArgs({ options: { help: { type: 'boolean' } } });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const built = {};
  for (const [name, source] of Object.entries(readSources())) {
    const { code } = await minify(source, {
      ecma: 2020,
      toplevel: true,
      compress: { defaults: false, conditionals: true, if_return: true, join_vars: true, sequences: true },
      mangle: { keep_fnames: true, keep_classnames: true },
      // An uncaught error prints the line that threw it.
      format: { comments: false, max_line_len: 120 }
    });
    built[name] = `${code}\n`;
  }
  fs.rmSync(DIST, { recursive: true, force: true });
  for (const folder of ['addons', 'prebuilds']) fs.mkdirSync(path.join(DIST, folder), { recursive: true });
  for (const [name, code] of Object.entries(built)) fs.writeFileSync(path.join(DIST, name), code);
  for (const name of ['index.mjs', 'index.d.ts', 'index.d.mts']) {
    fs.copyFileSync(path.join(ROOT, name), path.join(DIST, name));
  }
}

main().catch((error) => {
  console.error(`build-dist: ${error.message}`);
  process.exitCode = 1;
});
