'use strict';

const { NotHere } = require('../../../scripts/support/fetch');
const { exchange } = require('./exchange');
const { ENDS } = require('./ours');
const { PEERS } = require('./peers');

/**
 * @param {import('./peers').Peer} peer
 * @param {object} end
 * @param {'server' | 'client'} role of the end that is tested
 * @param {{ takeover: boolean, bits: number }} parameters
 * @returns {Promise<{ count: number, bytes: number, received: number }>}
 */
async function test(peer, end, role, parameters) {
  const isServer = role === 'server';
  const options = { ...parameters, streams: end.streams === true };
  const server = await (isServer ? end : peer).listen(options);
  const url = `ws://127.0.0.1:${server.port}`;
  try {
    // A peer that connects has done so when it has been closed.
    const connection = isServer ? server.connection : end.connect(url, options);
    const tested = Promise.resolve(connection).then((one) => exchange(one, { ...parameters, isServer }));
    const [result] = await Promise.all([tested, isServer && peer.connect(url, options)]);
    return result;
  } finally {
    server.close();
  }
}

/** Tests all windows. @returns {Promise<{ cells: string[], faults: string[] }>} */
async function testWindows(peer, end, role, takeover, windows) {
  const total = { count: 0, bytes: 0, received: 0 };
  const faults = [];
  for (const bits of windows) {
    try {
      const result = await test(peer, end, role, { takeover, bits });
      for (const key of Object.keys(total)) total[key] += result[key];
    } catch (error) {
      faults.push(`window ${bits}: ${error.message}`);
    }
  }
  return { cells: [windows.join(' '), ...Object.values(total).map((value) => value.toLocaleString('en'))], faults };
}

module.exports = {
  summary: "compressed messages to and from Chromium, Python's websockets and Go's coder/websocket, byte by byte",
  details: `Sends messages of 0 to 1,000,000 bytes to programs of others, which send them back, and compares each byte: with a Connection
and with framemask/ws, whole and as streams, each as the server and as the client, with context takeover and without, with
all windows that the peer has. Against streams, websockets and coder/websocket echo by streams, too. Checks what was agreed on, and that messages come back compressed. The Go program is left out where there is no Go.`,
  packages: true,
  only: ['peer', PEERS],
  options: {
    quick: { text: 'windows 9 and 15 only' },
    install: { text: 'install Chromium with apt-get, if it is missing' }
  },
  columns: ['windows', 'messages', 'bytes', 'came back as'],

  async run({ quick, install }, { chosen, results, progress }) {
    for (const { name, windows, optional, start } of chosen) {
      let peer;
      try {
        peer = await start({ install, progress });
      } catch (error) {
        if (optional && error instanceof NotHere) progress(`${name}: left out, ${error.message}`);
        else await results.add(name, () => Promise.reject(error));
        continue;
      }
      const wanted = windows.filter((bits) => !quick || bits === 9 || bits === 15);
      for (const end of ENDS) {
        for (const role of peer.listen === undefined ? ['server'] : ['server', 'client']) {
          for (const takeover of [false, true]) {
            const title = `${name}, ${end.name}, ${role}, ${takeover ? 'takeover' : 'no takeover'}`;
            await results.add(title, () => testWindows(peer, end, role, takeover, wanted));
          }
        }
      }
      await peer.stop?.();
    }
  }
};
