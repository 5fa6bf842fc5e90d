'use strict';

const { quartiles } = require('./statistics');
const { formatNumber, formatTable } = require('./table');

/**
 * What a turn of a server gave.
 *
 * @typedef {object} Turn
 * @property {number} rate messages a second
 * @property {number} cost the server's processor time for each in microseconds, which hardly
 *   depends on what else the machine does; NaN where it can't be read
 * @property {number} [serverShare] how much of a core the server took; NaN where it can't be read
 * @property {number} [clientShare] how much of a core the client took: near 1 it was the limit
 * @property {number} [resident] the most bytes that the server had in memory; on other systems than
 *   Linux those at the end; NaN where they can't be read
 */

const FIGURES = ['rate', 'cost', 'serverShare', 'clientShare', 'resident'];

/**
 * Each server has one turn in each round, so that whatever else the machine does affects all alike.
 * The order is reversed in every second round.
 *
 * @param {Record<string, () => Promise<Turn>>} run by server
 * @param {number} rounds
 * @returns {Promise<Record<string, Turn[]>>} by server
 */
async function takeTurns(run, rounds) {
  const names = Object.keys(run);
  const turns = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const turn = await run[name]();
      // Round -1 only warms up.
      if (round >= 0) turns[name].push(turn);
    }
  }
  return turns;
}

/**
 * A server beside another, which is called `own`. All figures are quartiles over the rounds.
 *
 * @typedef {{ server: string, turns: Turn[] } & Record<
 *   'rate' | 'cost' | 'serverShare' | 'clientShare' | 'resident' | 'timesFaster' | 'timesCheaper',
 *   [number, number, number]>} Standing `timesFaster` and `timesCheaper` are above 1 where `own` is
 *   better
 *
 * @param {Record<string, Turn[]>} turns by server; each has as many
 * @param {string} own
 * @returns {Standing[]}
 */
function compareTurns(turns, own) {
  const ownTurns = turns[own];
  return Object.entries(turns).map(([server, list]) => ({
    server,
    ...Object.fromEntries(FIGURES.map((key) => [key, quartiles(list.map((turn) => turn[key]))])),
    timesFaster: quartiles(ownTurns.map(({ rate }, round) => rate / list[round].rate)),
    timesCheaper: quartiles(ownTurns.map(({ cost }, round) => list[round].cost / cost)),
    turns: list
  }));
}

/**
 * @param {string} corner the title of the first column
 * @param {{ name: string, own: string, standings: Standing[] }[]} results a row of the benchmark
 *   each; `own` is what compareTurns took
 * @returns {string} a table with a line for each server in each row
 */
function formatStandings(corner, results) {
  const head = [corner, 'server'];
  for (const title of ['1000/s', 'times faster', 'CPU µs', 'times cheaper']) head.push(title, 'quartiles');
  head.push('server, % of a core', 'client', 'peak RSS, MiB');

  const spread = ([low, middle, high], format) => {
    if (!Number.isFinite(middle)) return ['', ''];
    return [format(middle), `${format(low)} to ${format(high)}`];
  };
  const percent = ([, middle]) => (Number.isFinite(middle) ? String(Math.round(middle * 100)) : '');
  const ratio = (value) => value.toFixed(2);
  const lines = results.flatMap(({ name, own, standings }) =>
    standings.map((standing, i) => [
      i === 0 ? name : '',
      standing.server,
      ...spread(standing.rate, (rate) => formatNumber(rate / 1000)),
      ...(standing.server === own ? ['', ''] : spread(standing.timesFaster, ratio)),
      ...spread(standing.cost, formatNumber),
      ...(standing.server === own ? ['', ''] : spread(standing.timesCheaper, ratio)),
      percent(standing.serverShare),
      percent(standing.clientShare),
      formatNumber(standing.resident[1] / 1024 ** 2)
    ])
  );
  return formatTable(head, lines, 2);
}

/**
 * @param {{ name: string, own: string, standings: Standing[] }} result
 * @param {string} group
 * @returns {import('./report').Row} what a report keeps of it
 */
function toRow({ name, own, standings }, group) {
  const others = standings.filter(({ server }) => server !== own);
  return {
    name,
    group,
    candidates: Object.fromEntries(
      standings.map((standing) => [
        standing.server,
        Object.fromEntries(
          FIGURES.filter((key) => Number.isFinite(standing[key][1])).map((key) => [key, standing[key]])
        )
      ])
    ),
    timesFaster: others.map(({ server, timesFaster }) => ({ own, peer: server, times: timesFaster })),
    timesCheaper: others
      .filter(({ timesCheaper }) => Number.isFinite(timesCheaper[1]))
      .map(({ server, timesCheaper }) => ({ own, peer: server, times: timesCheaper }))
  };
}

module.exports = { compareTurns, formatStandings, takeTurns, toRow };
