'use strict';

// A capture of Autobahn|Testsuite itself at work on the example server: its bad cases, on the wire.

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { Decoder } = require('../../index.js');
const { State } = require('../../inspector/lib/judge');
const { findSuite } = require('../../test/support/autobahn/suite');
const { createEchoServer, shutDown } = require('../../examples/echo-server');
const { SCREENSHOTS, withScreen } = require('./session');
const { captureWhile, has, whyNot } = require('./tcpdump');

const CASES = ['2.5', '3.*', '4.*', '5.*', '6.3.*', '6.4.1', '6.4.2', '7.3.*', '7.5.*', '7.9.*'];
const TIMEOUT = 120_000;

/** Runs the suite's cases against a server. */
async function runSuite(suite, port) {
  const folder = path.join(SCREENSHOTS, 'autobahn');
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  const { command, inside } = suite.prepare('fuzzingclient', folder, 0);
  const spec = { outdir: inside, servers: [{ agent: 'server', url: `ws://${suite.host}:${port}` }], cases: CASES };
  const rest = { 'exclude-cases': [], 'exclude-agent-cases': {} };
  fs.writeFileSync(path.join(folder, 'spec.json'), JSON.stringify({ ...spec, ...rest }));
  const [program, ...args] = command;
  const child = spawn(program, args, { stdio: 'ignore', timeout: TIMEOUT });
  const [code] = await once(child, 'exit');
  assert.equal(code, 0, 'the suite has run');
}

/** What a Decoder says of all that an end has sent, given in pieces of no particular size. */
function faultOf(from, bytes) {
  let fault = null;
  const decoder = new Decoder({
    role: from === 'client' ? 'server' : 'client',
    onError: (error) => {
      fault = error;
    }
  });
  for (let at = 0; at < bytes.length; at += 13) decoder.write(Buffer.from(bytes.subarray(at, at + 13)));
  return fault;
}

/**
 * Compares the verdicts on a connection with a Decoder, and with the close code that the server has
 * answered with.
 *
 * @returns {string | undefined} the error of the client's bad frame
 */
function checkConnection({ client, server }) {
  for (const [from, { frames }] of Object.entries({ client, server })) {
    const bad = frames.filter(({ state }) => state === State.BAD);
    const fault = faultOf(from, Buffer.concat(frames.map(({ parsed }) => parsed.bytes)));
    assert.deepEqual(
      bad.map(({ fault: { code, closeCode } }) => ({ code, closeCode })),
      fault === null ? [] : [{ code: fault.code, closeCode: fault.closeCode }]
    );
  }
  const bad = client.frames.find(({ state }) => state === State.BAD);
  if (bad === undefined) return undefined;
  const answer = server.frames.find(({ opcode }) => opcode === 8);
  assert.equal(answer.parsed.bytes.readUInt16BE(2), bad.fault.closeCode, 'what the server has answered on the wire');
  return bad.fault.code;
}

async function run(browser) {
  const suite = findSuite(console.log);
  const reason = suite === null ? 'Autobahn|Testsuite needs Python 2.7 or Docker' : whyNot();
  if (reason !== null || !has(process.env.TSHARK ?? 'tshark')) return `not run: ${reason ?? 'tshark is not installed'}`;
  const server = createEchoServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  const capture = await captureWhile(port, () => runSuite(suite, port)).finally(() => shutDown(server));
  return withScreen(browser, async (screen, inspector) => {
    await screen.page.setInputFiles('#files', {
      name: 'autobahn.pcap',
      mimeType: 'application/octet-stream',
      buffer: capture
    });
    await screen.page.waitForFunction(() => !document.getElementById('sources').open);
    const { connections, frames } = inspector.session;
    const errors = connections.map(checkConnection).filter((code) => code !== undefined);
    assert.ok(errors.length >= 40, `${errors.length} bad cases`);
    await screen.page.selectOption('#verdict', '1');
    await screen.waitForFrames(`${errors.length} of ${frames.length.toLocaleString('en')} frames`);
    await screen.page.focus('#list');
    await screen.page.keyboard.press('Home');
    await screen.page.waitForSelector('#detail .verdict.bad');
    await screen.screenshot('autobahn');
    const kinds = new Set(errors);
    return `${connections.length} connections, ${frames.length} frames, ${errors.length} bad, ${kinds.size} kinds of errors`;
  });
}

module.exports = [{ name: 'autobahn', run }];
