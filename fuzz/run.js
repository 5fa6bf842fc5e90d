'use strict';

// Runs all fuzzers one after the other, with a live count of executions.

const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');

const USAGE = `Usage: node fuzz/run.js [--seconds <n>] [--help] [fuzzer...]

Runs all fuzzers, or those named (differential, handlers, encoders, deflate, ws, mask, scan).

  --seconds <n>  how long all of them take together (default: a minute for each)
  --help         print this

mask and scan are libFuzzer targets, which need Clang; they are left out without it, which is an error if CI=true. The
exit code is 0 without a finding, 1 with one, and 2 if the options are wrong.`;

const ROOT = path.join(__dirname, '..');
const OUT = path.join(ROOT, '.cache/fuzz');
const SCRIPTS = ['differential', 'handlers', 'encoders', 'deflate', 'ws'];
const TARGETS = ['mask', 'scan'];

/** @returns {string} why the targets can't be built; '' if they have been */
function buildTargets() {
  const { status, error, stderr } = spawnSync(path.join(__dirname, 'native/build.sh'), {
    encoding: 'utf8',
    env: { ...process.env, OUT }
  });
  return status === 0 ? '' : (error?.message ?? stderr);
}

/**
 * @param {string} name
 * @param {number} seconds
 * @returns {{ program: string, args: string[] }}
 */
function commandOf(name, seconds) {
  if (SCRIPTS.includes(name)) {
    const args = [path.join(__dirname, `${name}.js`), '--seconds', String(seconds)];
    return { program: process.execPath, args: name === 'differential' ? [...args, '--streams', '1e12'] : args };
  }
  // New inputs go into the first folder, so that the repository's corpus does not change.
  const found = path.join(OUT, 'corpus', name);
  fs.mkdirSync(found, { recursive: true });
  const options = [`-max_total_time=${seconds}`, '-max_len=4096', `-artifact_prefix=${OUT}/`, '-print_final_stats=1'];
  return {
    program: path.join(OUT, `${name}_fuzzer`),
    args: [...options, found, path.join(__dirname, 'native/corpus', name)]
  };
}

/**
 * @param {string} name
 * @param {number} seconds
 * @returns {Promise<boolean>} whether there was no finding
 */
function run(name, seconds) {
  const { program, args } = commandOf(name, seconds);
  console.log(`== ${name}, ${seconds} s`);
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: ROOT, stdio: 'inherit' });
    child.on('error', (error) => {
      console.error(error.message);
      resolve(false);
    });
    child.on('close', (status) => resolve(status === 0));
  });
}

async function main() {
  const all = [...SCRIPTS, ...TARGETS];
  let names;
  let seconds;
  try {
    const options = { seconds: { type: 'string' }, help: { type: 'boolean' } };
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    if (values.help) {
      console.log(USAGE);
      return;
    }
    const unknown = positionals.find((name) => !all.includes(name));
    if (unknown !== undefined) throw new Error(`There is no fuzzer '${unknown}'`);
    names = positionals.length > 0 ? positionals : all;
    seconds = Number(values.seconds ?? 60 * names.length);
    if (!(seconds > 0)) throw new Error(`--seconds must be a positive number, but was '${values.seconds}'`);
  } catch (error) {
    console.error(`${error.message}\n\n${USAGE}`);
    process.exitCode = 2;
    return;
  }

  if (names.some((name) => TARGETS.includes(name))) {
    const reason = buildTargets();
    if (reason !== '') {
      console.error(`mask and scan are left out: ${reason}`);
      if (process.env.CI === 'true') process.exitCode = 1;
      names = names.filter((name) => !TARGETS.includes(name));
    }
  }
  const failed = [];
  for (const name of names) {
    if (!(await run(name, Math.max(1, Math.round(seconds / names.length))))) failed.push(name);
  }
  if (failed.length > 0) process.exitCode = 1;
  console.log(failed.length > 0 ? `== findings: ${failed.join(', ')}` : '== no finding');
}

main();
