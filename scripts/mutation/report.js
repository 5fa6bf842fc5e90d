'use strict';

const { groups } = require('./equivalent.json');

/**
 * @typedef {import('./mutants').Mutant} Mutant
 * @typedef {'killed' | 'timed out' | 'survived' | 'not reached' | 'equivalent'} Fate
 * @typedef {Mutant & { fate: Fate, by?: string }} Result
 */

/**
 * @param {Mutant} mutant
 * @returns {string | undefined} why no test can tell it, if equivalent.json says so
 */
function reasonOf(mutant) {
  // By its text, since ids and lines change with the code above.
  const isSame = (other) => ['file', 'code', 'original', 'replacement'].every((key) => other[key] === mutant[key]);
  return groups.find(({ mutants }) => mutants.some(isSame))?.reason;
}

/**
 * @param {Result} result
 * @returns {string}
 */
function showSurvivor(result) {
  const { id, file, line, column, mutator, original, replacement, fate } = result;
  const why = fate === 'equivalent' ? `\n  ${reasonOf(result)}` : '';
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
 * @returns {{ score: number, text: string }}
 */
function summarize(results) {
  const count = (fate) => results.filter((result) => result.fate === fate).length;
  const killed = count('killed') + count('timed out');
  const survivors = results
    .filter(({ fate }) => fate !== 'killed' && fate !== 'timed out')
    .sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line || a.column - b.column);
  const equivalent = survivors.filter(({ fate }) => fate === 'equivalent');
  const others = survivors.filter(({ fate }) => fate !== 'equivalent');
  const score = (100 * killed) / results.length;
  const scoreOfOthers = (100 * killed) / (results.length - equivalent.length);
  const text = [
    ...equivalent.map(showSurvivor),
    ...others.map(showSurvivor),
    '',
    `killed ${count('killed')}, timed out ${count('timed out')}, survived ${count('survived')}, ` +
      `not reached ${count('not reached')}, equivalent ${equivalent.length}`,
    `score ${score.toFixed(1)} % of ${results.length}, ${scoreOfOthers.toFixed(1)} % without the equivalent ones`
  ].join('\n');
  return { score, text };
}

module.exports = { reasonOf, showSurvivor, summarize };
