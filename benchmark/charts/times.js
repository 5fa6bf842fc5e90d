'use strict';

const { formatTimes } = require('../support/digest');
const { WIDTH, titleOf } = require('./theme');

/**
 * Bars of how many times faster framemask is, one for each row of a report.
 *
 * @param {import('../support/report').Report} report
 * @param {{ title: string, explanation: string, own: string, peer: string, js?: string,
 *   label: (name: string) => string }} options `js` is the candidate that is drawn as a point
 * @param {import('./theme').Theme} theme
 * @returns {object} of Vega-Lite
 */
function timesChart(report, { title, explanation, own, peer, js, label }, theme) {
  const timesOf = (row, name) => row.timesFaster.find((pair) => pair.own === name && pair.peer === peer)?.times;
  const values = report.rows
    .filter((row) => timesOf(row, own) !== undefined)
    .map((row) => {
      const [low, times, high] = timesOf(row, own);
      const point = js === undefined ? undefined : timesOf(row, js)[1];
      // The number stands behind all that is drawn, and behind the line at 1.
      const end = Math.max(1, high, point ?? 0);
      return { row: label(row.name), low, times, high, js: point, text: formatTimes(times), end };
    });
  const most = Math.max(...values.map(({ end }) => end));
  const x = (field) => ({ field, type: 'quantitative', scale: { domain: [0, most * 1.08], nice: false } });
  const axis = { title: `times faster than ${peer}`, tickCount: 8 };
  const layers = [
    {
      mark: { type: 'bar', height: { band: 0.68 }, color: theme.own },
      encoding: { x: { ...x('times'), axis } }
    },
    { mark: { type: 'rule', strokeWidth: 1.5, color: theme.text }, encoding: { x: x('low'), x2: { field: 'high' } } },
    {
      mark: { type: 'text', align: 'left', dx: 8 },
      encoding: { x: x('end'), text: { field: 'text', type: 'nominal' } }
    },
    {
      mark: { type: 'rule', color: theme.peer, strokeWidth: 2 },
      encoding: { x: { datum: 1, type: 'quantitative' }, y: null }
    }
  ];
  if (js !== undefined) {
    layers.push({
      mark: { type: 'point', filled: true, size: 60, opacity: 1, color: theme.kernels[3], stroke: theme.background },
      encoding: { x: x('js') }
    });
  }
  return {
    title: titleOf(title, explanation, report),
    data: { values },
    width: WIDTH,
    height: values.length * 23 + 190,
    autosize: { type: 'fit', contains: 'padding' },
    encoding: {
      y: { field: 'row', type: 'nominal', sort: null, axis: { title: null, ticks: false, labelPadding: 8 } }
    },
    layer: layers
  };
}

module.exports = { timesChart };
