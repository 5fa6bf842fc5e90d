'use strict';

// Runs the tests of framemask/ws on each supported version of `ws`, and the tests of `ws` itself on
// framemask/ws.

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { createProgress, failuresIn } = require('../test/support/report');
const { select } = require('../test/support/select');
const { CACHE, ROOT, runNode, stageCheckout } = require('./ws-versions/stage');
const { runSuite, stageSuite } = require('./ws-versions/suite');

/** The oldest supported version, and the newest of each minor version after it. */
const VERSIONS = ['8.17.1', '8.18.3', '8.19.0', '8.20.1', '8.21.3', '8.22.2', '8.23.0'];
/** The first is just too old, the second has another API. */
const REFUSED = ['8.16.0', '7.5.10'];
/** For a file of tests. */
const TIMEOUT = 300_000;

const USAGE = `usage: npm run test:ws-versions [-- [--only <version>[,<version>...]] [--keep] [--help]]
       npm run test:ws-versions -- --suite <folder> [--version <version>] [--files <text>] [--keep]

Runs test/ws/*.js with ws ${VERSIONS.join(', ')}, in a copy of this checkout which
has that version, and checks that framemask/ws refuses ${REFUSED.join(' and ')} by an error that says so.
With --suite, runs the tests of ws itself instead, once on ws and once on framemask/ws, and lists
those that fail on framemask/ws. The versions are installed from npm in .cache/ws-versions/. The
exit code is 0 if nothing failed that ws passes.

  --only     only these versions
  --suite    a checkout of ws in which \`npm install\` was run; its files are not changed
  --version  the version of ws that framemask/ws uses; otherwise that of the checkout
  --files    only the files of the suite whose name has this in it
  --keep     keep the copy, in .cache/ws-versions/
  --help     print this`;

/** @returns {string[]} what is wrong with framemask/ws on that version */
function testVersion(version) {
  const folder = stageCheckout(version);
  const tests = fs.readdirSync(path.join(folder, 'test/ws')).filter((name) => name.endsWith('.js'));
  const faults = [];
  for (const name of tests) {
    const { status, stdout, stderr } = runNode([path.join('test/ws', name)], { cwd: folder, timeout: TIMEOUT });
    if (status !== 0) faults.push(`${name}:\n${failuresIn(stdout, { after: 20, tail: 12 })}${stderr}`);
  }
  return faults;
}

/** @returns {string[]} what is wrong with the error for a version that is not supported */
function testRefusal(version) {
  const folder = stageCheckout(version);
  const { status, stderr } = runNode(['-e', "require('./ws.js')"], { cwd: folder, timeout: TIMEOUT });
  if (status === 0) return ['framemask/ws loads'];
  const message = stderr.split('\n').find((line) => /^\w*Error\b/.test(line)) ?? stderr;
  const clear = message.includes(version) && message.includes(VERSIONS[0]);
  return clear ? [] : [`the error names not both ${version} and ${VERSIONS[0]}: ${message}`];
}

/** @returns {boolean} whether all versions passed */
function testVersions(only, progress) {
  if (!fs.existsSync(path.join(ROOT, 'test/ws'))) throw new Error('this checkout has no test/ws');
  const all = [...REFUSED, ...VERSIONS].map((name) => ({ name }));
  let failed = 0;
  for (const { name } of select('version', all, only)) {
    const refused = REFUSED.includes(name);
    const faults = refused ? testRefusal(name) : testVersion(name);
    const outcome = faults.length > 0 ? 'FAILED' : refused ? 'refused, as it should be' : 'passed';
    progress(`ws ${name}: ${outcome}`);
    for (const fault of faults) console.log(`   ${fault.replaceAll('\n', '\n   ')}`);
    if (faults.length > 0) failed++;
  }
  return failed === 0;
}

/** @returns {boolean} whether framemask/ws passes what ws passes */
function testSuite({ suite, version, files }, progress) {
  const source = path.resolve(suite);
  if (!fs.existsSync(path.join(source, 'node_modules/mocha')))
    throw new Error(`no mocha in ${suite}: npm install there`);
  const wanted = version ?? JSON.parse(fs.readFileSync(path.join(source, 'package.json'), 'utf8')).version;
  const [reference, outcome] = ['ws', 'framemask/ws'].map((library) => {
    progress(`${library}, with ws ${wanted}`);
    return runSuite(stageSuite(source, wanted, library), files, progress);
  });
  let failed = 0;
  for (const [name, error] of outcome.failures) {
    const known = reference.failures.has(name);
    if (!known) failed++;
    console.log(`\n${known ? 'fails on ws, too' : 'FAILED'}: ${name}`);
    if (!known) console.log(`   ${error.replaceAll('\n', '\n   ')}`);
  }
  for (const [title, { passed, pending, failures }] of Object.entries({ ws: reference, 'framemask/ws': outcome })) {
    console.log(`${title}: ${passed} passed, ${failures.size} failed, ${pending} pending`);
  }
  return failed === 0;
}

function main() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      suite: { type: 'string' },
      version: { type: 'string' },
      files: { type: 'string' },
      keep: { type: 'boolean' },
      help: { type: 'boolean' }
    }
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const progress = createProgress();
  progress(`Node.js ${process.versions.node}`);
  try {
    const passed = values.suite === undefined ? testVersions(values.only, progress) : testSuite(values, progress);
    if (!passed) process.exitCode = 1;
  } finally {
    if (!values.keep) {
      for (const name of ['checkout', 'suite']) fs.rmSync(path.join(CACHE, name), { recursive: true, force: true });
    }
  }
}

try {
  main();
} catch (error) {
  console.error(`test:ws-versions: ${error.message}`);
  process.exitCode = 1;
}
