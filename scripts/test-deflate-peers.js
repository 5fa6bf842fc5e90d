'use strict';

// Compressed messages to and from programs of others: Chromium, Python's websockets, Go's
// coder/websocket.

const { parseArgs } = require('node:util');
const { Exchange, judge } = require('./deflate-peers/exchange');
const { ENDS } = require('./deflate-peers/ours');
const { PEERS } = require('./deflate-peers/peers');
const { createProgress, printRows } = require('../test/support/report');
const { select } = require('../test/support/select');

const USAGE = `usage: npm run test:deflate-peers [-- [options]]

Sends messages of 0 to 1,000,000 bytes to programs of others, which send them back, and compares each byte:
with the codec and with framemask/ws, each as the server and as the client, with context takeover and without,
with all windows that the peer has. What was agreed on is checked, and that messages come back compressed.

  --only <peer>[,<peer>...]  only these peers
  --quick                    windows 9 and 15 only, for CI
  --install                  install what is missing: Chromium with apt-get, websockets with pip in .cache/,
                             and build the Go program, whose module Go downloads
  --allow-missing            a peer that is not there is reported, and no failure
  --help                     print this

The exit code is 0 if all messages came back.

peers: ${PEERS.map(({ name }) => name).join('; ')}`;

/**
 * @param {import('./deflate-peers/peers').Peer} peer
 * @param {object} end
 * @param {'server' | 'client'} role of the end that is tested
 * @param {{ takeover: boolean, bits: number, isShort: boolean }} options
 * @returns {Promise<object>} the result of the exchange
 */
async function test(peer, end, role, { isShort, ...options }) {
  const exchange = new Exchange(isShort);
  if (role === 'client') {
    const port = await peer.listen(options);
    end.connect(`ws://127.0.0.1:${port}`, options, exchange).catch((error) => exchange.fail(error));
    const result = await exchange.done;
    judge(result, options);
    return result;
  }
  const server = await end.serve(options, exchange);
  try {
    const connected = peer.connect(`ws://127.0.0.1:${server.port}`, options);
    connected.catch((error) => exchange.fail(error));
    const result = await exchange.done;
    await connected;
    judge(result, options);
    return result;
  } finally {
    server.close();
  }
}

/** Tests all of a peer. @returns {Promise<{ rows: string[][], failed: number }>} */
async function testPeer({ name, windows }, peer, isQuick) {
  const rows = [];
  let failed = 0;
  for (const end of ENDS) {
    for (const role of peer.listen === undefined ? ['server'] : ['server', 'client']) {
      for (const takeover of [false, true]) {
        const tested = isQuick ? windows.filter((bits) => bits === 9 || bits === 15) : windows;
        const row = { count: 0, bytes: 0, received: 0, passed: 0 };
        for (const bits of tested) {
          try {
            // The longest messages once for each window is enough.
            const result = await test(peer, end, role, { takeover, bits, isShort: bits !== 15 });
            row.passed++;
            for (const key of ['count', 'bytes', 'received']) row[key] += result[key];
          } catch (error) {
            failed++;
            console.log(
              `FAILED: ${name}, ${end.name} as the ${role}, takeover ${takeover}, window ${bits}: ${error.message}`
            );
          }
        }
        const sizes = [row.count, row.bytes, row.received].map((value) => value.toLocaleString('en'));
        rows.push([
          name,
          `${end.name}, ${role}`,
          takeover ? 'yes' : 'no',
          `${row.passed} of ${tested.length}`,
          ...sizes
        ]);
      }
    }
  }
  return { rows, failed };
}

async function main() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      quick: { type: 'boolean' },
      install: { type: 'boolean' },
      'allow-missing': { type: 'boolean' },
      help: { type: 'boolean' }
    }
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const peers = select('peer', PEERS, values.only);
  const progress = createProgress();
  const rows = [['peer', 'tested', 'takeover', 'windows', 'messages', 'bytes', 'came back as']];
  let failed = 0;
  for (const kind of peers) {
    let peer;
    try {
      peer = await kind.start({ install: values.install, progress });
    } catch (error) {
      progress(`${kind.name}: NOT RUN: ${error.message}`);
      if (!values['allow-missing']) failed++;
      continue;
    }
    try {
      const result = await testPeer(kind, peer, values.quick);
      rows.push(...result.rows);
      failed += result.failed;
      progress(`${kind.name}: ${result.failed === 0 ? 'passed' : 'FAILED'}`);
    } finally {
      await peer.stop();
    }
  }
  printRows(rows);
  if (failed > 0) process.exitCode = 1;
}

main().catch((error) => {
  console.error(`test:deflate-peers: ${error.message}`);
  process.exitCode = 1;
});
