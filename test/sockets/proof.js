'use strict';

// What is done where Node.js is not as lib/sockets/shared-reads.js needs it. Each in a process of
// its own: sharing is switched off for good.

const t = require('tap');
const path = require('node:path');
const { isNode } = require('../support/socket-pairs');
const { runScript } = require('../support/run-script');

const script = path.join(__dirname, '../support/shared-reads-probe.js');

/** @returns {Promise<object>} what the probe saw */
async function probe(what, options) {
  return JSON.parse(await runScript(script, [what], options));
}

const OFF = 'This Node.js does not read into shared memory. Set FRAMEMASK_READS=events';

t.test('reads are shared by default', { skip: !isNode }, async (t) => {
  t.same(await probe('nothing'), { shared: [true, true], seen: ['one', 'two'], error: null });
});

t.test('FRAMEMASK_READS=events switches sharing off', async (t) => {
  const env = { ...process.env, FRAMEMASK_READS: 'events' };
  t.same(await probe('nothing', { env }), { shared: [false, false], seen: ['one', 'two'], error: null });
});

t.test('any other value of FRAMEMASK_READS is ignored, by a warning if it is a slip', { skip: !isNode }, async (t) => {
  const shared = { shared: [true, true], seen: ['one', 'two'], error: null };
  const probeWith = (value) =>
    probe('nothing', { env: { ...process.env, FRAMEMASK_READS: value }, execArgv: ['--no-warnings'] });
  t.same(await Promise.all(['shared', ''].map(probeWith)), [shared, shared]);
  t.same(await probeWith('event'), {
    ...shared,
    warning: 'FRAMEMASK_READS is "event", and must be "events" or "shared": ignored'
  });
});

for (const change of [
  'no useUserBuffer',
  'no property for the buffer',
  'no property for the callback',
  'an emit in the place of the first',
  'a handle of another class',
  'a replaced read'
]) {
  t.test(`the socket reads by events where Node.js has ${change}`, { skip: !isNode }, async (t) => {
    t.same(await probe(change), { shared: [false, false], seen: ['one', 'two'], error: null });
  });
}

t.test('a first read that does not go to the memory ends the connection, and sharing', { skip: !isNode }, async (t) => {
  const { shared, seen, error } = await probe('a useUserBuffer that does nothing');
  t.equal(error, OFF);
  t.same(seen, ['two'], 'the random bytes of the memory are not decoded; the next socket reads by events');
  t.same(shared, [true, false]);
});

t.test(
  'a socket that has shared memory when another one finds that nothing goes there is ended, too',
  {
    skip: !isNode
  },
  async (t) => {
    const { shared, error, seen } = await probe('two sockets before the first read');
    t.same(shared, [true, true]);
    t.same(error, [OFF, OFF]);
    t.same(seen, []);
  }
);
