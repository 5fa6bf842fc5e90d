'use strict';

const { formatNumber } = require('../support/table');
const { titleOf } = require('./theme');

const COLUMNS = 3;
/** Of a panel; the names of the servers stand beside the first of a line. */
const PANEL = 188;
const BAR = 22;

/** @param {string} server @param {import('./theme').Theme} theme @returns {string} a color */
function colorOf(server, theme) {
  if (server.startsWith('framemask')) return theme.own;
  if (server === 'ws') return theme.peer;
  return server.startsWith('net.Socket') ? theme.limit : theme.other;
}

/**
 * A panel for each row: messages a second of each server.
 *
 * @param {import('../support/report').Report} report
 * @param {import('./theme').Theme} theme
 * @returns {object} of Vega-Lite
 */
function echoChart(report, theme) {
  const servers = Object.keys(report.rows[0].candidates);
  const panels = report.rows.map(({ name, candidates }, i) => {
    const values = servers
      .filter((server) => server in candidates)
      .map((server) => {
        const [low, rate, high] = candidates[server].rate.map((value) => value / 1000);
        return { server, low, rate, high, text: formatNumber(rate) };
      });
    const most = Math.max(...values.map(({ high }) => high));
    const x = (field) => ({ field, type: 'quantitative', scale: { domain: [0, most * 1.28], nice: false } });
    const names = i % COLUMNS === 0 ? { title: null, ticks: false, labelPadding: 6 } : null;
    return {
      title: { text: `${name} at once`, fontSize: 13, anchor: 'start', frame: 'group', offset: 6 },
      data: { values },
      width: PANEL,
      height: servers.length * BAR,
      encoding: { y: { field: 'server', type: 'nominal', sort: servers, scale: { domain: servers }, axis: names } },
      layer: [
        {
          mark: { type: 'bar', height: { band: 0.7 } },
          encoding: {
            x: { ...x('rate'), axis: { title: null, tickCount: 4 } },
            color: {
              field: 'server',
              type: 'nominal',
              legend: null,
              scale: { domain: servers, range: servers.map((server) => colorOf(server, theme)) }
            }
          }
        },
        {
          mark: { type: 'rule', strokeWidth: 1.5, color: theme.text },
          encoding: { x: x('low'), x2: { field: 'high' } }
        },
        {
          mark: { type: 'text', align: 'left', dx: 6 },
          encoding: { x: x('high'), text: { field: 'text', type: 'nominal' } }
        }
      ]
    };
  });
  const explanation =
    'Ten connections over loopback; each sends the next batch when the one before has come back. Longer is better. ' +
    'net.Socket parses nothing: the limit. Thin lines are quartiles.';
  return {
    title: titleOf('echo: thousands of messages a second', explanation, report),
    columns: COLUMNS,
    spacing: { row: 20, column: 18 },
    concat: panels
  };
}

module.exports = { echoChart };
