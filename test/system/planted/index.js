'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { ROOT, run } = require('../../support/child');
const { copyCheckout } = require('../../support/copy-checkout');
const { createRandom, seed } = require('../../support/random');
const { FAULTS } = require('./faults');

const COPIES = path.join(ROOT, '.cache/planted');
const ADDON = 'build/Release/framemask.node';
/** A fault may keep a test waiting. */
const LIMIT = 60_000;

/** @throws {Error} if the code of a fault is not there once */
function readPlace(copy, { file, from }) {
  const source = fs.readFileSync(path.join(copy, file), 'utf8');
  if (source.split(from).length !== 2) throw new Error(`${file} does not have once: ${from}`);
  return source;
}

function plant(copy, { file, from, to }) {
  const source = readPlace(copy, { file, from });
  fs.writeFileSync(
    path.join(copy, file),
    source.replace(from, () => to)
  );
  return () => fs.writeFileSync(path.join(copy, file), source);
}

/** @returns {Promise<boolean>} whether a test passes */
async function passes(copy, test) {
  const command = [process.execPath, '--import=./test/support/case-limit.mjs', test];
  const env = { FRAMEMASK_TEST_SEED: '1', TAP_BAIL: '1' };
  return (await run(command, { cwd: copy, timeout: LIMIT, env })).status === 0;
}

/** The tests that have been run without a fault: one that fails anyway finds nothing. */
const sound = new Map();

/** @returns {Promise<string | null>} why a fault is not found; null if it is */
async function seek(copy, fault) {
  const { file, from, to, test } = fault;
  if (!fs.existsSync(path.join(copy, test))) return `${test} is missing`;
  let remove;
  try {
    if (!sound.has(test)) sound.set(test, passes(copy, test));
    if (!(await sound.get(test))) return `${test} fails without a fault`;
    remove = plant(copy, fault);
  } catch ({ message }) {
    return message;
  }
  try {
    const build = [process.execPath, 'scripts/build-addon.js'];
    if (file.startsWith('src/')) {
      const { status, stderr } = await run(build, { cwd: copy });
      if (status !== 0) return `does not compile: ${stderr.slice(-500)}`;
    }
    return (await passes(copy, test)) ? `${test} passes with "${to}" in place of "${from}" in ${file}` : null;
  } finally {
    remove();
    // With the addon that has no fault.
    fs.copyFileSync(path.join(ROOT, ADDON), path.join(copy, ADDON));
  }
}

module.exports = {
  summary: 'faults that are planted in lib/ and src/, one at a time: does the test of each fail?',
  details: `Works in copies of the checkout, .cache/planted. faults.js lists the faults, and the test that must fail: a test that
is thinned out can't lose them unseen. Takes about two minutes.`,
  columns: ['faults'],
  options: { sample: { text: 'a third of the faults, by the seed; of the others, whether their code is there' } },

  async run({ sample }, { results, progress }) {
    const random = createRandom(seed);
    const chosen = FAULTS.filter(() => !sample || random(3) === 0);
    await results.add('faults', async () => {
      for (const fault of FAULTS) readPlace(ROOT, fault);
      const missed = [];
      let done = 0;
      const queue = chosen.values();
      const work = async (_, i) => {
        const copy = path.join(COPIES, String(i));
        copyCheckout(ROOT, copy, { addon: true });
        for (const fault of queue) {
          const why = await seek(copy, fault);
          if (why !== null) missed.push(why);
          progress(`${++done} of ${chosen.length}, ${fault.file}: ${why === null ? 'found' : 'NOT FOUND'}`);
        }
      };
      await Promise.all(Array.from({ length: os.availableParallelism() }, work));
      return { cells: [`${chosen.length} of ${FAULTS.length}`], faults: missed };
    });
  }
};
