'use strict';

const { machineLine } = require('../support/machine');

/** No chart is wider: a README column of GitHub has 838 px, and a wider picture is made smaller. */
const WIDTH = 830;
const FONT = 'Helvetica, Arial, "DejaVu Sans", sans-serif';
/** No text is smaller. */
const FONT_SIZE = 12;
/** The average width of a character, as a share of the font size, in the widest of the fonts. */
const CHARACTER = 0.58;
/** Characters in a line of the subtitle. */
const LINE = 112;

/**
 * @typedef {object} Theme
 * @property {string} background GitHub's own
 * @property {string} text
 * @property {string} quiet for axes, and text that matters less
 * @property {string} grid
 * @property {string} own framemask
 * @property {string[]} kernels framemask's other kernels, and its JavaScript
 * @property {string} peer ws and bufferutil
 * @property {string} other other servers, and the byte loop
 * @property {string} limit bare sockets
 */

/** @type {Record<'light' | 'dark', Theme>} */
const THEMES = {
  light: {
    background: '#ffffff',
    text: '#1f2328',
    quiet: '#59636e',
    grid: '#d1d9e0',
    own: '#0969da',
    kernels: ['#1b7c83', '#2da44e', '#8a6d00', '#8250df'],
    peer: '#bc4c00',
    other: '#6e7781',
    limit: '#a5afb9'
  },
  dark: {
    background: '#0d1117',
    text: '#f0f6fc',
    quiet: '#9198a1',
    grid: '#3d444d',
    own: '#58a6ff',
    kernels: ['#39c5cf', '#56d364', '#e3b341', '#bc8cff'],
    peer: '#f0883e',
    other: '#8b949e',
    limit: '#57606a'
  }
};

/** @param {string} text @returns {string[]} lines that fit */
function wrap(text) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== '' && last.length + word.length >= LINE) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
}

/**
 * @param {string} text
 * @param {string} explanation how to read the chart
 * @param {import('../support/report').Report} report whose machine is written below
 * @returns {object} a title of Vega-Lite
 */
function titleOf(text, explanation, report) {
  const { machine, date, rounds, noise } = report;
  const measured = `${machineLine(machine)}; ${date.slice(0, 10)}, medians of ${rounds} rounds`;
  const lines = [...wrap(explanation), ...wrap(measured)];
  if (noise.length > 0) lines.push(...wrap(`NOISY MACHINE, not to be quoted: ${noise.join('; ')}`));
  return { text, subtitle: lines, anchor: 'start', frame: 'bounds', offset: 14 };
}

/** @param {Theme} theme @returns {object} a configuration of Vega-Lite */
function configOf(theme) {
  const labels = { labelColor: theme.text, labelFontSize: FONT_SIZE, labelLimit: 400 };
  const titles = { titleColor: theme.quiet, titleFontSize: FONT_SIZE, titleFontWeight: 'normal' };
  return {
    background: theme.background,
    // The picture has an alt text.
    aria: false,
    font: FONT,
    padding: { left: 8, right: 14, top: 10, bottom: 10 },
    view: { stroke: null },
    axis: { ...labels, ...titles, gridColor: theme.grid, domainColor: theme.quiet, tickColor: theme.quiet },
    legend: { ...labels, ...titles, symbolStrokeWidth: 3, symbolSize: 150 },
    title: {
      color: theme.text,
      fontSize: 17,
      subtitleColor: theme.quiet,
      subtitleFontSize: FONT_SIZE,
      subtitleLineHeight: 17,
      subtitlePadding: 6
    },
    text: { color: theme.text, fontSize: FONT_SIZE }
  };
}

module.exports = { CHARACTER, FONT_SIZE, THEMES, WIDTH, configOf, titleOf };
