'use strict';

const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { NotHere } = require('../../../scripts/support/fetch');

/**
 * A malloc in front of glibc's, which refuses what a deflater allocates. Node.js calls setenv for an
 * assignment to process.env: so the process says when, and how often.
 */
const SHIM = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
extern void *__libc_malloc(size_t);
static int left;
void *malloc(size_t size) {
  if (size >= 65000 && size <= 140000 && __atomic_load_n(&left, __ATOMIC_SEQ_CST) > 0) {
    __atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST);
    return NULL;
  }
  return __libc_malloc(size);
}
int setenv(const char *name, const char *value, int over) {
  int (*next)(const char *, const char *, int) = (int (*)(const char *, const char *, int))dlsym(RTLD_NEXT, "setenv");
  if (strcmp(name, "REFUSE_MALLOC") == 0) __atomic_store_n(&left, atoi(value), __ATOMIC_SEQ_CST);
  return next(name, value, over);
}
`;

/** The second is of Node.js 26, whose pool for Buffers has 64 KiB, too. */
const EXPECTED = ['FRAMEMASK_ERR_NO_MEMORY', 'ERR_MEMORY_ALLOCATION_FAILED'];
/** How many other connections send afterwards. */
const OTHERS = 12;

function compile(folder) {
  const library = path.join(folder, 'shim.so');
  fs.writeFileSync(path.join(folder, 'shim.c'), SHIM);
  try {
    execFileSync('cc', ['-O1', '-shared', '-fPIC', '-o', library, path.join(folder, 'shim.c'), '-ldl']);
  } catch (error) {
    throw new NotHere(`it needs a C compiler, cc, and glibc: ${error.message}`);
  }
  return library;
}

/** @returns {{ cells: string[], faults: string[] }} of a process whose allocations are refused */
function runChild(library, args) {
  const env = { ...process.env, LD_PRELOAD: library };
  const options = { env, encoding: 'utf8', timeout: 60_000 };
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    [path.join(__dirname, 'child.js'), ...args],
    options
  );
  if (status !== 0) return { faults: [`the process ended by ${signal ?? `exit code ${status}`}: ${stderr}`] };
  const { refused, errors, right, wrong, pending, others } = JSON.parse(stdout);
  const faults = [];
  if (!refused) faults.push('nothing was refused');
  if (wrong.length > 0) faults.push(`wrong: ${wrong.join(', ')}`);
  if (pending !== 0) faults.push(`${pending} bytes stay pending`);
  if (errors.some((code) => !EXPECTED.includes(code))) faults.push(`errors: ${errors.join(', ')}`);
  if (errors.length === 0 && right !== 3) faults.push(`${right} of 3 messages arrived, and no error was told`);
  if (others !== OTHERS) faults.push(`${others} of ${OTHERS} other connections got their message`);
  return { cells: [String(errors.length), String(right), String(others)], faults };
}

module.exports = {
  summary: 'zlib without memory: an error of that connection, and of no other',
  details: 'A malloc in front of that of glibc refuses what a deflater allocates. It needs a C compiler, cc.',
  linuxOnly: true,
  columns: ['errors', 'messages', 'of others'],

  async run(_options, { results }) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-'));
    try {
      const library = compile(folder);
      for (const where of ['loop', 'pool']) {
        for (const takeover of [true, false]) {
          for (const times of [5, 1000]) {
            const args = [where, takeover, times, OTHERS].map(String);
            const name = `${where}, takeover ${takeover}, ${times} allocations`;
            await results.add(name, async () => runChild(library, args));
          }
        }
      }
    } finally {
      fs.rmSync(folder, { recursive: true, force: true });
    }
  }
};
