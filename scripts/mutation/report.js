'use strict';

const { groups } = require('./equivalent.json');

/**
 * @typedef {import('./mutants').Mutant & { fate: string, by?: string, reason?: string }} Result
 */

/**
 * @param {Result[]} results
 * @returns {Result[]} with the reason for each mutant that scripts/mutation/equivalent.json has
 */
function explain(results) {
  return results.map((result) => ({ ...result, reason: groups.find(({ mutants }) => has(mutants, result))?.reason }));
}

/** A mutant is found again by its text, since ids and lines change with the code above them. */
function has(mutants, result) {
  return mutants.some((mutant) =>
    ['file', 'code', 'original', 'replacement'].every((key) => mutant[key] === result[key])
  );
}

/**
 * @param {Result} result
 * @returns {string}
 */
function showSurvivor({ id, file, line, column, mutator, original, replacement, fate, reason }) {
  const why = reason === undefined ? '' : `\n  ${reason}`;
  return `
${file}:${line}:${column} ${mutator}, ${fate}, id ${id}${why}
- ${brief(original)}
+ ${brief(replacement)}`;
}

/** @returns {string} code on one line */
function brief(code) {
  return code.replace(/\s+/g, ' ').slice(0, 200);
}

/**
 * @param {Result[]} results
 * @returns {{ survivors: Result[], score: number, text: string }}
 */
function summarize(results) {
  const count = (fate) => results.filter((result) => result.fate === fate).length;
  const killed = count('killed') + count('timed out');
  const survivors = results
    .filter(({ fate }) => fate === 'survived' || fate === 'not reached')
    .sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line || a.column - b.column);
  const explained = survivors.filter(({ reason }) => reason !== undefined);
  const wrong = results.filter((result) => result.reason !== undefined && !survivors.includes(result));
  const score = (100 * killed) / results.length;
  const scoreOfOthers = (100 * killed) / (results.length - explained.length);
  const text = [
    ...survivors.filter(({ reason }) => reason === undefined).map(showSurvivor),
    ...explained.map(showSurvivor),
    ...wrong.map((result) => `\nkilled by ${result.by}, but in equivalent.json:${showSurvivor(result)}`),
    '',
    `killed ${count('killed')}, timed out ${count('timed out')}, survived ${count('survived')}, ` +
      `not reached ${count('not reached')}; ${explained.length} of the survivors are in equivalent.json`,
    `score ${score.toFixed(1)} % of ${results.length}, ${scoreOfOthers.toFixed(1)} % without those`
  ].join('\n');
  return { survivors, score, text };
}

module.exports = { explain, showSurvivor, summarize };
