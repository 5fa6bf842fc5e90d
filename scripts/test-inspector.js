'use strict';

// Tests the page of the frame inspector in a real Chromium.

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { SCREENSHOTS } = require('./inspector/session');
const { startChromium } = require('../test/support/chromium');
const { createProgress } = require('../test/support/report');
const { select } = require('../test/support/select');

const TESTS = [
  './inspector/sources',
  './inspector/capture',
  './inspector/autobahn',
  './inspector/live',
  './inspector/page',
  './inspector/package'
].flatMap((name) => require(name));

const USAGE = `usage: npm run test:inspector [-- [--only <test>[,<test>...]] [--install] [--help]]

Opens the page of the frame inspector in a Chromium without a window, and does what a reader would. Screenshots are
written to ${path.relative(process.cwd(), SCREENSHOTS)}/. The exit code is 0 if all tests passed.

  --only     only these tests
  --install  have apt-get install what is missing: Chromium, tshark, tcpdump
  --help     print this

tests: ${TESTS.map(({ name }) => name).join('; ')}`;

async function main() {
  const { values } = parseArgs({
    options: { only: { type: 'string', multiple: true }, install: { type: 'boolean' }, help: { type: 'boolean' } }
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const tests = select('test', TESTS, values.only);
  const progress = createProgress();
  const { install = false } = values;
  fs.mkdirSync(SCREENSHOTS, { recursive: true });
  const browser = await startChromium({ chromium: require('playwright-core').chromium, install, progress });
  let failed = 0;
  try {
    for (const { name, run } of tests) {
      try {
        const said = await run(browser, { install, progress });
        progress(`${name}: passed${said === undefined ? '' : `, ${said}`}`);
      } catch (error) {
        failed++;
        progress(`${name}: FAILED`);
        console.log(error.stack);
      }
    }
  } finally {
    await browser.close();
  }
  console.log(`\n${tests.length - failed} passed, ${failed} failed`);
  if (failed > 0) process.exitCode = 1;
}

main().catch((error) => {
  console.error(`test:inspector: ${error.message}`);
  process.exitCode = 1;
});
