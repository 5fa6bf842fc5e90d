'use strict';

// How many messages a second does an echo server send back, and what does each cost it? framemask's
// example beside servers of ws (with bufferutil), Bun, Deno, tokio-websockets and yawc, and beside
// sockets that send back what came. Over loopback, each in a process of its own. One client process
// serves them all: it writes batches of ready frames to raw sockets, and counts the bytes that come
// back.

const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');

const { readArguments, readCount, refuse } = require('./support/arguments');
const { createCertificate, findServers, startServer } = require('./support/echo-servers');
const { COMPRESSED, CONNECTIONS, ECHO, UPLOAD } = require('./support/echo-work');
const { BINARY, TEXT } = require('./support/messages');
const { createProgress } = require('./support/progress');
const { publish, reportLine, startReport } = require('./support/report');
const { compareTurns, formatStandings, takeTurns, toRow } = require('./support/server-turns');
const { kernel } = require('../index.js');

const USAGE = `usage: node benchmark/echo.js [options]

Measures echo servers over loopback. Prints medians of messages a second and of the server's processor time for each
message, and how many times better the first server of a row is than each other one, all with quartiles over the rounds.
Then how much of a core the server and the client take: where the client's share is near 100 %, the server could do
more. And the most resident memory of the server. Takes about eight minutes.

Text is delivered as bytes, or as strings in the rows that say so. Bun and Deno have text as strings only. An upload is
of binary messages, of which none is sent back. The rows over TLS need openssl for a certificate. In the rows with
compression (permessage-deflate) no server has context takeover.

Bun and Deno are the programs that BUN and DENO name, or those on PATH; else they are fetched from npm to .cache/peers/.
tokio-websockets, in the rows of bytes, and yawc, in those with compression, are built there with cargo. Only what the
rows need is fetched and built.

  --only <text>     only the rows whose name has this in it
  --kind <name>     bytes, strings, tls, deflate or upload: only these rows; may be given several times
  --servers <text>  only the servers whose name has this in it; may be given several times
  --binary          binary messages instead of text
  --turn <ms>       how long a turn of a server takes (default 300)
  --no-fetch        download nothing`;

/** What the rows of each kind are called together. */
const GROUPS = {
  bytes: 'echo',
  strings: 'echo, text as strings',
  tls: 'echo over TLS',
  deflate: 'echo with permessage-deflate',
  upload: 'upload'
};

/** Also measured over TLS: where the system calls count most, and where the bytes count, too. */
const OVER_TLS = ['1 × 64 B', '50 × 1 KiB'];

const KINDS = Object.keys(GROUPS);

/** @returns {{ name: string, kind: import('./support/echo-servers').Kind, work: object }[]} */
function listRows(binary) {
  const rows = Object.entries(ECHO).map(([name, work]) => ({ name, kind: 'bytes', work }));
  // A binary message is never a string.
  const strings = binary ? [] : rows.map(({ name, work }) => ({ name: `${name}, strings`, kind: 'strings', work }));
  const secure = OVER_TLS.map((name) => ({ name: `${name}, TLS`, kind: 'tls', work: ECHO[name] }));
  const compressed = Object.entries(COMPRESSED).map(([name, work]) => ({
    name: `${name}, compressed`,
    kind: 'deflate',
    work
  }));
  const uploads = Object.entries(UPLOAD).map(([name, work]) => ({ name: `${name}, upload`, kind: 'upload', work }));
  return [...rows, ...strings, ...secure, ...compressed, ...uploads];
}

/**
 * @param {import('node:child_process').ChildProcess} client
 * @param {object} load as support/echo-load.js takes it
 * @returns {Promise<import('./support/server-turns').Turn>}
 */
async function putLoad(client, load) {
  client.send(load);
  const [{ error, ...turn }] = await once(client, 'message');
  if (error !== undefined) throw new Error(error);
  return turn;
}

/**
 * Starts the servers of one kind, measures its rows, and ends them.
 *
 * @param {ReturnType<typeof listRows>} rows of this kind
 * @param {import('./support/echo-servers').EchoServer[]} servers that can do it
 * @param {object} options
 * @param {number} options.rounds
 * @param {object} options.load what all rows have in common
 * @param {{ key: string, cert: string } | null} options.tls
 * @param {(name: string) => void} onRow is called before each
 */
async function measureKind(rows, servers, { rounds, load, tls }, onRow) {
  const { kind } = rows[0];
  const options = {
    text: kind === 'strings' ? 'string' : 'buffer',
    upload: kind === 'upload',
    deflate: kind === 'deflate',
    tls
  };
  const running = [];
  const client = fork(path.join(__dirname, 'support', 'echo-load.js'));
  const results = [];
  try {
    const put = ({ port, bare, child }, work) => {
      const where = { port, bare, pid: child.pid, tls: tls !== null };
      return putLoad(client, { ...load, ...work, ...where });
    };
    for (const server of servers) {
      const started = await startServer(server, options).catch((error) => {
        console.error(`${server.name} is left out: ${error.message}`);
        return null;
      });
      if (started === null) continue;
      running.push(started);
      // Until the code is compiled that all rows need; each row has a round to warm up, too.
      await put(started, { ...rows[0].work, milliseconds: 3 * load.milliseconds });
    }
    if (running.length === 0) return [];
    const own = running[0].name;
    for (const { name, work } of rows) {
      onRow(name);
      const run = Object.fromEntries(running.map((server) => [server.name, () => put(server, work)]));
      const turns = await takeTurns(run, rounds);
      results.push({ name, kind, own, standings: compareTurns(turns, own) });
    }
  } finally {
    for (const { child } of running) child.kill();
    client.kill();
  }
  return results;
}

async function main() {
  const values = readArguments(USAGE, {
    only: { type: 'string', default: '' },
    kind: { type: 'string', multiple: true, default: KINDS },
    servers: { type: 'string', multiple: true, default: [''] },
    binary: { type: 'boolean', default: false },
    turn: { type: 'string' },
    'no-fetch': { type: 'boolean', default: false }
  });
  const { rounds, quick, json, binary } = values;
  let rows = listRows(binary).filter(({ name, kind }) => name.includes(values.only) && values.kind.includes(kind));
  if (rows.length === 0)
    refuse(new RangeError(`no row of the kinds ${values.kind.join(', ')} has "${values.only}" in its name`));
  const turn = readCount('turn', values.turn ?? (quick ? '100' : '300'));
  const wanted = (name) => values.servers.some((text) => name.includes(text));
  const kinds = KINDS.filter((kind) => rows.some((row) => row.kind === kind));
  const servers = findServers(wanted, kinds, !values['no-fetch']);
  if (servers.length === 0)
    refuse(new RangeError(`no server of these rows has ${values.servers.join(' or ')} in its name`));

  let certificate = null;
  try {
    if (rows.some(({ kind }) => kind === 'tls')) certificate = createCertificate();
  } catch (error) {
    console.error(`the rows over TLS are left out: ${error.message}`);
    rows = rows.filter(({ kind }) => kind !== 'tls');
  }

  const finish = await startReport('echo');
  const load = { first: binary ? BINARY : TEXT, connections: CONNECTIONS, milliseconds: turn };
  const progress = createProgress(rows.length);
  const results = [];
  for (const kind of KINDS) {
    const chosen = rows.filter((row) => row.kind === kind);
    const able = servers.filter(({ kinds }) => kinds.includes(kind));
    if (chosen.length === 0 || able.length === 0) continue;
    const tls = kind === 'tls' ? certificate : null;
    results.push(...(await measureKind(chosen, able, { rounds, load, tls }, progress.step)));
  }
  progress.end();

  const versions = Object.fromEntries(
    servers.flatMap(({ name, version }) => (version === undefined ? [] : [[name, version]]))
  );
  const reported = results.map((result) => toRow(result, GROUPS[result.kind]));
  const report = await finish({ quick, rounds, kernel, peers: ['bufferutil'], versions, rows: reported });
  publish(report, json, `${reportLine(report)}\n\n${formatStandings(`${CONNECTIONS} connections`, results)}`);
}

main();
