'use strict';

const { formatSize } = require('../support/table');
const { WIDTH, titleOf } = require('./theme');

const LENGTHS = [8, 32, 125, 512, 2048, 8192, 32768, 131072, 524288, 2 ** 21, 2 ** 24];
const SPEEDS = [0.03, 0.1, 0.3, 1, 3, 10, 30, 100];
const LABEL = `datum.value < 1024 ? datum.value + ' B'
  : datum.value < 1048576 ? datum.value / 1024 + ' KiB' : datum.value / 1048576 + ' MiB'`;

/** @returns {[string, string][]} the candidates that are drawn, and what they are called, the best one first */
function listSeries({ machine, rows }) {
  const names = Object.keys(rows[0].candidates);
  const kernels = names.filter((name) => name.startsWith('framemask ') && name !== 'framemask js').toReversed();
  const series = [
    ['framemask', `framemask, ${machine.kernel}`],
    ...kernels.map((name) => [name, name.replace(' ', ', ')]),
    ['framemask js', 'framemask, JavaScript'],
    ['bufferutil', 'bufferutil'],
    ['node:http', 'node:http'],
    ['byte loop', 'a byte loop']
  ];
  return series.filter(([name]) => names.includes(name));
}

/**
 * @param {import('../support/report').Report & { wsFrom: { mask: number, unmask: number } | null }} report
 * @param {'unmask' | 'mask'} work
 * @param {import('./theme').Theme} theme
 * @returns {object} of Vega-Lite
 */
function maskingChart(report, work, theme) {
  const series = listSeries(report);
  const colors = { framemask: theme.own, bufferutil: theme.peer, 'node:http': theme.limit, 'byte loop': theme.other };
  const spare = theme.kernels.values();
  const palette = series.map(([name]) => colors[name] ?? spare.next().value ?? theme.limit);
  const speed = ({ bytes, candidates }, name) => bytes / candidates[name].ns[1];
  const values = report.rows
    .filter(({ group, bytes }) => group === work && bytes > 0)
    .flatMap((row) => series.map(([name, label]) => ({ bytes: row.bytes, speed: speed(row, name), label })));

  const x = { field: 'bytes', type: 'quantitative', scale: { type: 'log', base: 2, nice: false } };
  const axis = { values: LENGTHS, labelExpr: LABEL, grid: false, labelFlush: false };
  const draw = (chosen, strokeWidth) => ({
    data: { values: values.filter(chosen) },
    mark: { type: 'line', strokeWidth, point: { size: 18, filled: true } },
    encoding: {
      x: { ...x, axis: { ...axis, title: 'payload' } },
      y: {
        field: 'speed',
        type: 'quantitative',
        scale: { type: 'log' },
        axis: { values: SPEEDS, format: '~g', title: 'GB/s' }
      },
      color: {
        field: 'label',
        type: 'nominal',
        scale: { domain: series.map(([, label]) => label), range: palette },
        legend: { title: null, orient: 'bottom', columns: 4, columnPadding: 24, symbolType: 'stroke' }
      }
    }
  });
  const best = series[0][1];
  const lines = [draw(({ label }) => label !== best, 2), draw(({ label }) => label === best, 3.5)];
  const from = report.wsFrom?.[work];
  const cutOff = {
    data: { values: [{ bytes: from }] },
    encoding: { x },
    layer: [
      { mark: { type: 'rule', color: theme.quiet, strokeDash: [4, 4] } },
      {
        mark: { type: 'text', align: 'left', baseline: 'bottom', dx: 6, y: { expr: 'height - 6' }, color: theme.quiet },
        encoding: {
          text: { value: `ws calls bufferutil from ${formatSize(from ?? 0)} on; below, a loop of its own` }
        }
      }
    ]
  };
  const place = work === 'unmask' ? 'in place' : 'into another buffer';
  return {
    title: titleOf(
      `${work} ${place}: GB/s over the length of the payload`,
      'Both axes are logarithmic. Higher is better.',
      report
    ),
    width: WIDTH,
    height: 520,
    autosize: { type: 'fit', contains: 'padding' },
    layer: [...lines, ...(from === undefined ? [] : [cutOff])]
  };
}

module.exports = { maskingChart };
