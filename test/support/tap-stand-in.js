'use strict';

// What the tests use of tap, for runtimes that tap does not load on: Bun and Deno.
// test/system/runtimes runs the tests on a copy of the project in which require('tap') loads
// this file. It prints each failure and, as its last line, how many tests and assertions passed as
// JSON.

const fs = require('node:fs');
const { createRequire } = require('node:module');
const os = require('node:os');
const path = require('node:path');
const timers = require('node:timers');
const { fileURLToPath } = require('node:url');
const { inspect } = require('node:util');
const { match, same } = require('tcompare');

const LIBRARY = path.join(__dirname, '../../lib') + path.sep;

/** Titles of tests to skip, and the reasons. */
const UNSUPPORTED = new Map(Object.entries(JSON.parse(process.env.FRAMEMASK_TEST_SKIPPED || '{}')));

const counts = { passed: 0, failed: 0, skipped: 0 };

function report(kind, names, message) {
  console.log(`${kind}: ${names.join(' > ')}${message ? `: ${message}` : ''}`);
}

/** @returns {string} the file of the code that called into this one */
function callingFile() {
  const files = new Error().stack.match(/(file:\/\/)?\/[^\s():]+\.c?js/g) ?? [];
  const paths = files.map((file) => (file.startsWith('file:') ? fileURLToPath(file) : file));
  return paths.find((file) => file !== __filename);
}

/**
 * Bun's stack has no frame for a caller whose last act is the call: then it is a file of this
 * folder.
 *
 * @param {string} id
 * @returns {NodeJS.RequireResolve} resolves from the calling file if `id` is found from there
 */
function resolverFor(id) {
  const { resolve } = createRequire(callingFile());
  try {
    resolve(id);
    return resolve;
  } catch {
    return require.resolve;
  }
}

/** Writes an object of names and contents to a folder. */
function writeFixture(folder, fixture) {
  fs.mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(fixture)) {
    const file = path.join(folder, name);
    if (typeof content === 'string' || ArrayBuffer.isView(content)) fs.writeFileSync(file, content);
    else writeFixture(file, content);
  }
}

/** Loads a module of lib/ and those of lib/ that it requires once more, some of them replaced. */
function loadWithMocks(file, mocks) {
  const loaded = new Map();
  function load(file) {
    if (mocks.has(file)) return mocks.get(file);
    if (!file.startsWith(LIBRARY) || !file.endsWith('.js')) return require(file);
    if (loaded.has(file)) return loaded.get(file).exports;
    const module = { exports: {}, filename: file };
    loaded.set(file, module);
    const { resolve } = createRequire(file);
    const requireModule = Object.assign(
      (id) => load(id.startsWith('.') ? resolve(id) : mocks.has(id) ? id : resolve(id)),
      { resolve }
    );
    const code = new Function('module', 'exports', 'require', '__filename', '__dirname', fs.readFileSync(file, 'utf8'));
    code(module, module.exports, requireModule, file, path.dirname(file));
    return module.exports;
  }
  return load(file);
}

class Test {
  constructor(names) {
    this._names = names;
    this._queue = Promise.resolve();
    this._teardowns = [];
    this._skipped = false;
    this._done = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  /** Runs a test after those before it. @returns {Promise<void>} when it has ended */
  test(name, ...rest) {
    const run = rest.pop();
    const [{ skip, timeout } = {}] = rest;
    const names = [...this._names, name];
    const reason = UNSUPPORTED.get(name) ?? (skip === true ? 'skipped' : skip);
    this._queue = this._queue.then(() => (reason ? skipTest(names, reason) : new Test(names)._run(run, timeout)));
    return this._queue;
  }

  async _run(run, timeout = 60_000) {
    running.add(this);
    // A test that hangs ends the process, whose end names it.
    timers.clearTimeout(limit);
    limit = timers.setTimeout(() => process.exit(1), timeout).unref();
    const failedBefore = counts.failed;
    try {
      const returned = run(this);
      if (typeof returned?.then === 'function') await returned;
      else if (!this._skipped) await this._done;
    } catch (error) {
      this._check(false, inspect(error));
    }
    await this._queue;
    await this._tearDown();
    timers.clearTimeout(limit);
    running.delete(this);
    if (!this._skipped && counts.failed === failedBefore) counts.passed++;
  }

  async _tearDown() {
    for (const tearDown of this._teardowns.reverse()) await tearDown();
  }

  _check(passed, ...texts) {
    if (passed) counts.passed++;
    else {
      counts.failed++;
      report('failed', this._names, texts.filter((text) => typeof text === 'string').join(': '));
      process.exitCode = 1;
    }
    return passed;
  }

  /** Skips the rest of the test, which returns. */
  skip(reason) {
    this._skipped = true;
    skipTest(this._names, reason);
  }

  teardown(tearDown) {
    this._teardowns.push(tearDown);
  }

  throws(call, ...rest) {
    try {
      call();
    } catch (error) {
      return this._checkError(error, rest);
    }
    return this._check(false, ...rest, 'did not throw');
  }

  async rejects(promise, ...rest) {
    try {
      await (typeof promise === 'function' ? promise() : promise);
    } catch (error) {
      return this._checkError(error, rest);
    }
    return this._check(false, ...rest, 'was not rejected');
  }

  _checkError(error, [wanted, message]) {
    if (wanted === undefined || typeof wanted === 'string') this.pass();
    else this.match(wanted instanceof RegExp ? error.message : error, wanted, message);
    return error;
  }

  /** @returns {string} a new folder with the files of `fixture`, removed when the test has ended */
  testdir(fixture = {}) {
    const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-')));
    this.testdirName = folder;
    this.teardown(() => fs.rmSync(folder, { recursive: true, force: true }));
    writeFixture(folder, fixture);
    return folder;
  }

  mockRequire(id, mocks = {}) {
    const resolve = resolverFor(id);
    const byFile = Object.entries(mocks).map(([id, mock]) => [id.startsWith('.') ? resolve(id) : id, mock]);
    return loadWithMocks(resolve(id), new Map(byFile));
  }
}

/** The other assertions: each tells whether it holds for its arguments, before a message. */
const ASSERTIONS = {
  pass: () => true,
  fail: () => false,
  ok: (value) => Boolean(value),
  notOk: (value) => !value,
  equal: (found, wanted) => Object.is(found, wanted),
  not: (found, unwanted) => !Object.is(found, unwanted),
  same: (found, wanted) => same(found, wanted).match,
  match: (found, pattern) => match(found, pattern).match,
  notMatch: (found, pattern) => !match(found, pattern).match,
  type: (value, type) => (typeof type === 'string' ? typeof value === type : match(value, type).match),
  doesNotThrow(call) {
    call();
    return true;
  }
};

for (const [name, holds] of Object.entries(ASSERTIONS)) {
  Test.prototype[name] = function (...args) {
    const values = args.splice(0, holds.length);
    return this._check(holds(...values), ...args, `${name} of ${values.map((value) => inspect(value)).join(' and ')}`);
  };
}

function skipTest(names, reason) {
  counts.skipped++;
  report('skipped', names, reason);
}

/** Tests that have not ended. */
const running = new Set();
/** The time that the last one to begin has. */
let limit;
const root = new Test([]);

process.once('beforeExit', () => root._tearDown());

process.on('exit', () => {
  for (const { _names } of running) {
    counts.failed++;
    report('failed', _names, 'did not end');
  }
  if (counts.failed > 0) process.exitCode = 1;
  console.log(JSON.stringify(counts));
});

module.exports = root;
