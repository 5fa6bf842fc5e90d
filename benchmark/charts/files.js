'use strict';

const fs = require('node:fs');
const path = require('node:path');

const { drawCharts } = require('./draw');
const { figureBlocks } = require('./figures');
const { readmeBlock } = require('./readme');

const ROOT = path.join(__dirname, '..', '..');
const FIGURES = 'docs/figures.md';
const README = 'README.md';

/**
 * Replaces what stands between `<!-- figures: NAME -->` and `<!-- /figures -->`.
 *
 * @param {string} file
 * @param {Record<string, string>} blocks by name
 * @returns {string} the text of the file
 * @throws {Error} if a block has no place in it, or a place no block
 */
function fill(file, blocks) {
  const text = fs.readFileSync(path.join(ROOT, file), 'utf8').replaceAll('\r\n', '\n');
  const left = new Set(Object.keys(blocks));
  const filled = text.replace(/(<!-- figures: (\w+) -->\n)[\s\S]*?(<!-- \/figures -->)/g, (_, start, name, end) => {
    if (!left.delete(name)) throw new Error(`${file} has a place for "${name}", which is not generated or there twice`);
    return `${start}\n${blocks[name]}\n\n${end}`;
  });
  if (left.size > 0) throw new Error(`${file} has no place for ${[...left].join(', ')}`);
  return filled;
}

/**
 * @param {Record<string, import('../support/report').Report>} reports by part
 * @returns {Promise<Record<string, string>>} the text of all files that are drawn or filled, by their paths
 */
async function generate(reports) {
  return {
    ...(await drawCharts(reports)),
    [FIGURES]: fill(FIGURES, figureBlocks(reports)),
    [README]: fill(README, { summary: readmeBlock(reports) })
  };
}

module.exports = { ROOT, generate };
