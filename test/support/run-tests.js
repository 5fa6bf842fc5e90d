'use strict';

// `npm test` of a package in this checkout that has dependencies of its own: node:test runs the
// files of the folders named in its package.json, after apt-get if --install asks for it.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { installDebian } = require('../../scripts/support/fetch');

const { name, config } = JSON.parse(fs.readFileSync('package.json', 'utf8'));

const USAGE = `usage: npm test [-- [--install] [--help]]

Runs the tests of ${name}. One file alone: node ${path.relative('', process.argv[2] ?? 'test')}/<file>.

  --install  have apt-get install what is missing: ${config.debian}
  --help     print this`;

function main() {
  const { values, positionals } = parseArgs({
    options: { install: { type: 'boolean' }, help: { type: 'boolean' } },
    allowPositionals: true
  });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  // Packages such as tshark's would ask questions.
  process.env.DEBIAN_FRONTEND ??= 'noninteractive';
  if (values.install) installDebian(config.debian.split(' '), console.log);
  const files = positionals.flatMap((folder) =>
    fs.readdirSync(folder).flatMap((file) => (file.endsWith('.js') ? path.join(folder, file) : []))
  );
  const options = ['--test', '--test-reporter=spec', '--test-timeout=600000'];
  return spawnSync(process.execPath, [...options, ...files], { stdio: 'inherit' }).status ?? 1;
}

try {
  process.exitCode = main();
} catch (error) {
  console.error(`${error.message}\n\n${USAGE}`);
  process.exitCode = 1;
}
