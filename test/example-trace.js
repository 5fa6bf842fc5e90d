'use strict';

// examples/trace.js as a program.

const { execFile } = require('node:child_process');
const path = require('node:path');
const { promisify } = require('node:util');
const t = require('tap');

const run = (...options) =>
  promisify(execFile)(process.execPath, [path.join(__dirname, '../examples/trace.js'), ...options]);

t.test('the page shows each frame once, ids ascend, and a Ping frame lies inside a message', async (t) => {
  const { stdout, stderr } = await run();
  t.equal(stderr, '');
  const [, ...lines] = stdout.trimEnd().split('\n');
  t.equal(lines.length, 12);
  const text = lines.map((line) => line.replace(/^ *[\d.]+ {2}/, ''));
  const fromClient = text.filter((line) => line.includes('client ──▶ server'));
  const ids = fromClient.map((line) => line.slice(0, 36));
  t.ok(ids.every((id) => /^[0-9a-f-]{36}$/.test(id)));
  t.same(ids, [...ids].sort());
  t.match(
    fromClient.slice(1, 5).join('\n'),
    /text .*┐\n.*continuation .*┤\n.*ping .*│\n.*continuation .*┘ one text message of 28 bytes$/
  );
});

t.test('--json prints each record of both ends', async (t) => {
  const { stdout } = await run('--json');
  const records = stdout.trimEnd().split('\n').map(JSON.parse);
  const frames = records.filter(({ channel }) => channel === 'framemask:frame');
  t.equal(frames.length, 24, 'twelve frames, sent and received');
  for (const role of ['server', 'client']) {
    const sent = frames.filter((frame) => frame.role === role && frame.direction === 'sent');
    const received = frames.filter((frame) => frame.role !== role && frame.direction === 'received');
    const shape = ({ sequence, opcode, fin, rsv, masked, length }) => ({ sequence, opcode, fin, rsv, masked, length });
    t.same(sent.map(shape), received.map(shape), `what the ${role} sent, the other received`);
  }
  t.equal(records.filter(({ channel }) => channel === 'framemask:message').length, 12);
});

t.test('--help prints the usage; an unknown option is refused', async (t) => {
  t.match((await run('--help')).stdout, /^usage: node examples\/trace\.js/);
  await t.rejects(run('--nonsense'), { code: 1 });
});
