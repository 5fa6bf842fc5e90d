'use strict';

// CVE-2026-2229: parameters of an extension that nobody checks, such as server_max_window_bits=1000,
// end the process when the first compressed message comes. framemask negotiates no extension.

const t = require('tap');
const { EXTENSIONS } = require('../support/attacks/attacks');
const { head, open, startFalseServer } = require('../support/connections');
const { attackEchoServer, closeCodes } = require('../support/targets');

t.test('the client refuses an answer with an extension', async (t) => {
  for (const offer of EXTENSIONS) {
    const url = await startFalseServer(t, (socket, lines) => {
      socket.write(head(...lines, `Sec-WebSocket-Extensions: ${offer}`));
    });
    t.match(await open(url).closed, { code: 1006, error: /extension/ });
  }
});

attackEchoServer(t, 'extension-parameters', {
  onWs: true,
  connections: EXTENSIONS.length,
  async check(t, { attacker, running }) {
    await running;
    t.notOk(
      attacker.answers.some((bytes) => bytes.includes('Extensions')),
      'no extension was accepted'
    );
    // RSV1 belongs to no extension then.
    t.same(closeCodes(attacker), Array(EXTENSIONS.length).fill(1002));
  }
});
