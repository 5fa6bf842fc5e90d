// Imported by .taprc into the process of each test file. tap's `timeout` is a limit for the whole
// file; here each case begins it anew. A case that may take longer has an option `timeout`, in
// milliseconds. A process that is killed leaves the name of its case to reporter.js.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const require = createRequire(import.meta.url);
  const t = require('tap');
  const { TRIES_ALL } = require('./sample');
  const limit = Number(process.env.TAP_TIMEOUT ?? 30) * (TRIES_ALL ? 20_000 : 1000);
  const name = path.resolve('.tap/cases', path.relative('', process.argv[1]).replaceAll(path.sep, '-'));
  mkdirSync(path.dirname(name), { recursive: true });
  t.beforeEach(({ fullname, options }) => {
    writeFileSync(name, fullname);
    // The root's: tap's own process hears of it, and kills one that is blocked.
    t.setTimeout(Math.max(limit, options.timeout ?? 0));
  });
  // tap would go on with the next case, until it is killed.
  t.on('timeout', () => process.exit(1));
  process.on('exit', () => rmSync(name, { force: true }));
}
