'use strict';

const { createRandom } = require('../../test/support/random');

/**
 * @typedef {object} Mutant
 * @property {string} id the same in each run, while lib/ is the same
 * @property {string} file
 * @property {number} line
 * @property {number} column
 * @property {number} start the index in the file of the first character that it replaces
 * @property {number} end the index after the last
 * @property {string} code the line
 * @property {string} mutator Stryker's name of the change
 * @property {string} original
 * @property {string} replacement
 */

/**
 * Finds all mutants of files.
 *
 * @param {{ name: string, content: string }[]} files
 * @returns {Promise<Mutant[]>}
 */
async function findMutants(files) {
  // Stryker's packages are ECMAScript modules.
  const { createInstrumenter } = await import('@stryker-mutator/instrumenter');
  const { commonTokens } = await import('@stryker-mutator/api/plugin');
  const { createInjector } = await import('typed-inject');
  const quiet = () => {};
  const logger = { isDebugEnabled: () => false, debug: quiet, info: quiet, warn: quiet, trace: quiet, error: quiet };
  logger.isTraceEnabled = logger.isInfoEnabled = logger.isDebugEnabled;
  const injector = createInjector().provideValue(commonTokens.logger, logger);
  const instrumenter = injector.injectFunction(createInstrumenter);
  const options = { plugins: null, ignorers: [], excludedMutations: [], mutator: {}, noHeader: false };
  const { mutants } = await instrumenter.instrument(
    files.map(({ name, content }) => ({ name, content, mutate: true })),
    options
  );
  const contents = new Map(files.map(({ name, content }) => [name, content]));
  // Most strings are messages for people: no test compares every word.
  return mutants
    .filter(({ mutatorName }) => mutatorName !== 'StringLiteral')
    .map(({ id, fileName: file, mutatorName: mutator, replacement, location }) => {
      const content = contents.get(file);
      const lines = content.split('\n');
      const start = indexOf(lines, location.start);
      const end = indexOf(lines, location.end);
      const place = { file, line: location.start.line + 1, column: location.start.column + 1, start, end };
      const code = lines[location.start.line].trim();
      return { id, ...place, code, mutator, original: content.slice(start, end), replacement };
    });
}

/** @returns {number} the index in a file of a place that Stryker names */
function indexOf(lines, { line, column }) {
  return lines.slice(0, line).reduce((sum, text) => sum + text.length + 1, 0) + column;
}

/**
 * Stryker would put all mutants into one file and have an environment variable choose, but loops
 * then take 10 to 30 times as long.
 *
 * @param {string} content of the mutant's file
 * @param {Mutant} mutant
 * @returns {string} the file with the mutant
 */
function mutate(content, { start, end, replacement }) {
  // An expression may need parentheses where it stands, a statement must not have them.
  const text = /^(\{|for\b)/.test(replacement) ? replacement : `(${replacement})`;
  return content.slice(0, start) + text + content.slice(end);
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

module.exports = { findMutants, mutate, sample };
