'use strict';

// Runs all fuzzers one after the other, with a live count of executions.

const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { readOptions } = require('./program');

const ROOT = path.join(__dirname, '..');
const OUT = path.join(ROOT, '.cache/fuzz');
const SCRIPTS = ['differential', 'encoders', 'deflate', 'ws', 'connection'];
const TARGETS = ['mask', 'scan'];
const ALL = [...SCRIPTS, ...TARGETS];

const USAGE = `Usage: node fuzz/run.js [--seconds <n>] [--help] [fuzzer...]

Runs all fuzzers, or those named (${ALL.join(', ')}).

  --seconds <n>  how long all of them take together (default: a minute for each)
  --help         print this

mask and scan are libFuzzer targets, which need Clang; they are left out without it, which is an error if CI=true. The
exit code is 0 without a finding, 1 with one, and 2 if the options are wrong.`;

/** @returns {string} why the targets can't be built; '' if they have been */
function buildTargets() {
  const env = { ...process.env, OUT };
  const { status, error, stderr } = spawnSync(path.join(__dirname, 'native/build.sh'), { encoding: 'utf8', env });
  return status === 0 ? '' : (error?.message ?? stderr);
}

/** @returns {string[]} the program and its arguments */
function commandOf(name, seconds) {
  if (SCRIPTS.includes(name)) return [process.execPath, path.join(__dirname, `${name}.js`), '--seconds', `${seconds}`];
  // New inputs go into the first folder, so that the repository's corpus does not change.
  const corpora = [path.join(OUT, 'corpus', name), path.join(__dirname, 'native/corpus', name)];
  fs.mkdirSync(corpora[0], { recursive: true });
  const options = [`-max_total_time=${seconds}`, '-max_len=4096', `-artifact_prefix=${OUT}/`, '-print_final_stats=1'];
  return [path.join(OUT, `${name}_fuzzer`), ...options, ...corpora];
}

async function main() {
  const options = readOptions(USAGE, { seconds: { type: 'string' } }, (positionals) => {
    const unknown = positionals.find((name) => !ALL.includes(name));
    if (unknown !== undefined) throw new Error(`There is no fuzzer '${unknown}'`);
  });
  if (options === null) return;
  let names = options.positionals.length > 0 ? options.positionals : ALL;
  if (names.some((name) => TARGETS.includes(name))) {
    const reason = buildTargets();
    if (reason !== '') {
      console.error(`mask and scan are left out: ${reason}`);
      if (process.env.CI === 'true') process.exitCode = 1;
      names = names.filter((name) => !TARGETS.includes(name));
    }
  }
  const seconds = Math.max(1, Math.round((options.seconds ?? 60 * names.length) / names.length));
  const failed = [];
  for (const name of names) {
    console.log(`== ${name}, ${seconds} s`);
    const [program, ...args] = commandOf(name, seconds);
    const [status] = await once(spawn(program, args, { cwd: ROOT, stdio: 'inherit' }), 'close');
    if (status !== 0) failed.push(name);
  }
  if (failed.length > 0) process.exitCode = 1;
  console.log(failed.length > 0 ? `== findings: ${failed.join(', ')}` : '== no finding');
}

main();
