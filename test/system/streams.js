'use strict';

const { createHash, randomBytes } = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { WebSocketServer, WebSocketStream } = require('../../ws');
const { createServer } = require('../../examples/upload');
const { startChromium } = require('../support/chromium');
const { Results } = require('./support/results');

/** The length of the file that is uploaded, and of each direction of the streams. */
const LENGTH = 24 * 1024 * 1024;

/** In the page: sends chunks of all sizes, reads them back, hashes them, and closes. */
async function inPage({ length }) {
  const stream = new globalThis.WebSocketStream(`ws://${location.host}/echo`, { protocols: ['echo'] });
  const { readable, writable, protocol } = await stream.opened;
  const [reader, writer] = [readable.getReader(), writable.getWriter()];
  const sent = new Uint8Array(length);
  for (let i = 0; i < length; i += 65_536) crypto.getRandomValues(sent.subarray(i, i + 65_536));
  const writing = (async () => {
    for (let at = 0, size = 1; at < length; size = (size * 3) % 500_009) {
      await writer.write(sent.subarray(at, at + size));
      at += size;
    }
    await writer.write('é'.repeat(100_000));
  })();
  // Nothing is read at first: the server has to wait.
  await new Promise((resolve) => setTimeout(resolve, 500));
  const got = new Uint8Array(length);
  for (let at = 0; at < length; ) {
    const { value } = await reader.read();
    // Chromium gives ArrayBuffers, the proposal says Uint8Array.
    got.set(new Uint8Array(value), at);
    at += value.byteLength;
  }
  const text = (await reader.read()).value;
  await writing;
  const hash = async (bytes) => [...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))].join();
  const same = (await hash(sent)) === (await hash(got));
  stream.close({ closeCode: 4000, reason: 'bye' });
  return { protocol, same, text: text === 'é'.repeat(100_000), ...(await stream.closed) };
}

/** Echoes by streams; notes how each connection ended. */
async function startEcho() {
  const server = http.createServer((_request, response) => response.setHeader('Content-Type', 'text/html').end(''));
  const ends = [];
  new WebSocketServer({ server }).on('connection', async (socket, { url }) => {
    const stream = WebSocketStream.from(socket);
    stream.closed.then(
      (end) => ends.push(`${end.closeCode} ${end.reason}`),
      (error) => ends.push(error.message)
    );
    const { readable, writable } = await stream.opened;
    if (url === '/lost') socket.terminate();
    else await readable.pipeTo(writable).catch(() => {});
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { server, ends, url: `http://127.0.0.1:${server.address().port}/` };
}

const differences = (actual, expected) =>
  JSON.stringify(actual) === JSON.stringify(expected) ? [] : [JSON.stringify(actual)];

module.exports = {
  summary: "Chromium's WebSocketStream and the page of examples/upload.js",
  options: { install: { type: 'boolean', text: 'have apt-get install Chromium where it is missing' } },
  packages: true,

  async run({ install }, { progress }) {
    const results = new Results([], progress);
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-upload-'));
    const echo = await startEcho();
    const uploads = createServer(folder);
    await once(uploads.listen(0, '127.0.0.1'), 'listening');
    const browser = await startChromium({ chromium: require('playwright-core').chromium, install, progress });
    const page = await browser.newPage();
    try {
      await page.goto(echo.url);
      await results.add('echo by streams at both ends', async () => {
        const end = { closeCode: 4000, reason: 'bye' };
        const faults = differences(await page.evaluate(inPage, { length: LENGTH }), {
          protocol: 'echo',
          same: true,
          text: true,
          ...end
        });
        return { faults: [...faults, ...differences(echo.ends, ['4000 bye'])] };
      });
      await results.add('a lost connection', async () => {
        const error = await page.evaluate(async () => {
          const stream = new globalThis.WebSocketStream(`ws://${location.host}/lost`);
          const { name, closeCode } = await stream.closed.catch((error) => error);
          return { name, closeCode };
        });
        return { faults: differences(error, { name: 'WebSocketError', closeCode: 1006 }) };
      });
      const file = path.join(folder, 'source');
      fs.writeFileSync(file, randomBytes(LENGTH));
      for (const api of ['WebSocketStream', 'WebSocket']) {
        await results.add(`the upload page by ${api}`, async () => {
          await page.goto(`http://127.0.0.1:${uploads.address().port}`);
          if (api === 'WebSocket') await page.evaluate(() => delete globalThis.WebSocketStream);
          const before = new Set(fs.readdirSync(folder));
          await page.setInputFiles('input', file);
          const line = page.locator('p', { hasText: /^Done|differ/ });
          const text = await line.textContent();
          const [name] = fs.readdirSync(folder).filter((one) => !before.has(one));
          const hash = (one) => createHash('sha256').update(fs.readFileSync(one)).digest('hex');
          return {
            faults: [
              ...differences(text, `Done: ${LENGTH} bytes`),
              ...differences(hash(path.join(folder, name)), hash(file))
            ]
          };
        });
      }
    } finally {
      await browser.close();
      for (const server of [echo.server, uploads]) server.close().closeAllConnections();
      fs.rmSync(folder, { recursive: true });
    }
    return results.end();
  }
};
