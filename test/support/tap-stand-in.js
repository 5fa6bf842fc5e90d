'use strict';

// What the tests use of tap, for runtimes that tap does not load on: Bun and Deno.
// test/system/runtimes runs the tests on a copy of the project in which require('tap') loads
// this file. It prints each failure and, as its last line, how many tests and assertions passed as
// JSON.

const assert = require('node:assert');
const fs = require('node:fs');
const { createRequire } = require('node:module');
const os = require('node:os');
const path = require('node:path');
const { fileURLToPath } = require('node:url');
const { inspect } = require('node:util');

const LIBRARY = path.join(__dirname, '../../lib') + path.sep;

/** Titles of tests to skip, and the reasons. */
const UNSUPPORTED = new Map(Object.entries(JSON.parse(process.env.FRAMEMASK_TEST_SKIPPED || '{}')));

const counts = { passed: 0, failed: 0, skipped: 0 };

function report(kind, names, message) {
  console.log(`${kind}: ${names.join(' > ')}${message ? `: ${message}` : ''}`);
}

function passes(check) {
  try {
    check();
    return true;
  } catch {
    return false;
  }
}

/**
 * tap's loose comparison: a RegExp tests a string, a string is part of another one, a class has an
 * instance, and an object may have further properties.
 */
function matches(found, pattern) {
  // biome-ignore lint/suspicious/noDoubleEquals: as tap
  if (found == pattern) return true;
  if (found === null || found === undefined || pattern === null || pattern === undefined) return false;
  if (pattern instanceof RegExp) return pattern.test(found instanceof Error ? found.message : String(found));
  if (typeof pattern === 'string') return typeof found === 'string' && pattern !== '' && found.includes(pattern);
  if (typeof pattern === 'function') return isOfType(found, pattern);
  if (typeof pattern !== 'object' || (typeof found !== 'object' && typeof found !== 'function')) return false;
  if (ArrayBuffer.isView(pattern)) return passes(() => assert.strict.deepEqual(found, pattern));
  const keys = pattern instanceof Error ? ['name', 'message', ...Object.keys(pattern)] : Object.keys(pattern);
  return keys.every((key) => matches(found[key], pattern[key]));
}

function isOfType(value, type) {
  if (typeof type === 'string') return typeof value === type;
  return value instanceof type || typeof value === type.name?.toLowerCase();
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
    const [{ skip } = {}] = rest;
    const names = [...this._names, name];
    const reason = UNSUPPORTED.get(name) ?? (skip === true ? 'skipped' : skip);
    this._queue = this._queue.then(() => (reason ? skipTest(names, reason) : new Test(names)._run(run)));
    return this._queue;
  }

  async _run(run) {
    running.add(this);
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
    running.delete(this);
    if (!this._skipped && counts.failed === failedBefore) counts.passed++;
  }

  async _tearDown() {
    for (const tearDown of this._teardowns.reverse()) await tearDown();
  }

  _check(passed, message, detail = '') {
    if (passed) counts.passed++;
    else {
      counts.failed++;
      report('failed', this._names, [message, detail].filter(Boolean).join(': '));
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

  pass(message) {
    return this._check(true, message);
  }

  fail(message) {
    return this._check(false, message);
  }

  doesNotThrow(call, message) {
    try {
      call();
    } catch (error) {
      return this._check(false, message, inspect(error));
    }
    return this._check(true);
  }

  ok(value, message) {
    return this._check(Boolean(value), message, `${inspect(value)} is not truthy`);
  }

  notOk(value, message) {
    return this._check(!value, message, `${inspect(value)} is not falsy`);
  }

  throws(call, ...rest) {
    try {
      call();
    } catch (error) {
      return this._checkError(error, rest);
    }
    return this._check(false, ...rest.filter((value) => typeof value === 'string'), 'did not throw');
  }

  async rejects(promise, ...rest) {
    try {
      await (typeof promise === 'function' ? promise() : promise);
    } catch (error) {
      return this._checkError(error, rest);
    }
    return this._check(false, ...rest.filter((value) => typeof value === 'string'), 'was not rejected');
  }

  _checkError(error, [wanted, message]) {
    const right = typeof wanted === 'string' || wanted === undefined || matches(error, wanted);
    this._check(right, message, `${inspect(error)} does not match ${inspect(wanted)}`);
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

/** The assertions that compare two values. */
const COMPARISONS = {
  equal: Object.is,
  not: (found, unwanted) => !Object.is(found, unwanted),
  same: (found, wanted) => passes(() => assert.deepEqual(found, wanted)),
  match: matches,
  type: isOfType
};
for (const [name, holds] of Object.entries(COMPARISONS)) {
  Test.prototype[name] = function (found, wanted, message) {
    return this._check(holds(found, wanted), message, `${inspect(found)}, ${name}: ${inspect(wanted)}`);
  };
}

function skipTest(names, reason) {
  counts.skipped++;
  report('skipped', names, reason);
}

/** Tests that have not ended. */
const running = new Set();
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
