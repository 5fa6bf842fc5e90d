'use strict';

const { createRandom } = require('../../test/support/random');

/**
 * @typedef {object} Mutant
 * @property {string} id by which the instrumented code knows it
 * @property {string} file
 * @property {number} line
 * @property {number} column
 * @property {string} mutator Stryker's name of the change
 * @property {string} original
 * @property {string} replacement
 */

/**
 * Puts all of Stryker's mutants into copies of files. A process runs with the one that the environment variable
 * `__STRYKER_ACTIVE_MUTANT__` names, or with none.
 *
 * @param {{ name: string, content: string }[]} files
 * @returns {Promise<{ files: { name: string, content: string }[], mutants: Mutant[] }>}
 */
async function instrument(files) {
  // Stryker's packages are ECMAScript modules.
  const { createInstrumenter } = await import('@stryker-mutator/instrumenter');
  const { commonTokens } = await import('@stryker-mutator/api/plugin');
  const { createInjector } = await import('typed-inject');
  const quiet = () => {};
  const logger = { isDebugEnabled: () => false, debug: quiet, info: quiet, warn: quiet, trace: quiet, error: quiet };
  logger.isTraceEnabled = logger.isInfoEnabled = logger.isDebugEnabled;
  const injector = createInjector().provideValue(commonTokens.logger, logger);
  const instrumenter = injector.injectFunction(createInstrumenter);
  // Messages are for people: no test compares every word.
  const options = { plugins: null, ignorers: [], excludedMutations: ['StringLiteral'], mutator: {}, noHeader: false };
  const result = await instrumenter.instrument(
    files.map(({ name, content }) => ({ name, content, mutate: true })),
    options
  );
  const contents = new Map(files.map(({ name, content }) => [name, content.split('\n')]));
  // Excluded ones are listed, but not put in.
  const placed = result.mutants.filter(({ ignoreReason }) => ignoreReason === undefined);
  const mutants = placed.map((mutant) => {
    const { id, fileName, mutatorName, replacement, location } = mutant;
    const { start } = location;
    const original = textAt(contents.get(fileName), location);
    const place = { file: fileName, line: start.line + 1, column: start.column + 1 };
    return { id, ...place, mutator: mutatorName, original, replacement: replacement.replace(/\s+/g, ' ') };
  });
  return { files: result.files, mutants };
}

/** @returns {string} what stands between two places of a file, on one line */
function textAt(lines, { start, end }) {
  const text = lines.slice(start.line, end.line + 1);
  text[text.length - 1] = text.at(-1).slice(0, end.column);
  text[0] = text[0].slice(start.column);
  return text.join(' ').replace(/\s+/g, ' ');
}

/**
 * @param {Mutant[]} mutants
 * @param {number} size
 * @param {number} seed
 * @returns {Mutant[]} so many of them at most, in their order; the same for the same seed
 */
function sample(mutants, size, seed) {
  const random = createRandom(seed);
  const shuffled = [...mutants];
  for (let i = shuffled.length - 1; i > 0; i--) {
    const j = random(i + 1);
    [shuffled[i], shuffled[j]] = [shuffled[j], shuffled[i]];
  }
  const chosen = new Set(shuffled.slice(0, size));
  return mutants.filter((mutant) => chosen.has(mutant));
}

module.exports = { instrument, sample };
