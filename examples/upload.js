'use strict';

// A page that uploads a file of any size, and a server that writes it to disk: node examples/upload.js
// FOLDER. Neither holds more than some chunks of it. An upload goes on where it was after a lost
// connection.
//
// The server says how many bytes it has, { at }; the page sends the others, and the text 'end'; the
// server answers { size, hash }: browsers hash no streams, so that each block is hashed with the hash of
// those before it.

const { createHash } = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { pipeline } = require('node:stream/promises');
const { WebSocketServer, WebSocketStream } = require('framemask/ws');

/** The bytes that are hashed at a time. */
const BLOCK = 1024 * 1024;

const PAGE = `<!doctype html><meta charset="utf-8"><title>Upload</title>
<input type="file"> <progress max="1" value="0"></progress><p role="status">Choose a file.</p><script type="module">
  const [input, bar, line] = document.querySelectorAll('input, progress, p');
  const SLICE = 256 * 1024;
  const BLOCK = ${BLOCK};
  async function* slices(file, at) {
    for (; at < file.size; at += SLICE) {
      yield new Uint8Array(await file.slice(at, at + SLICE).arrayBuffer());
      bar.value = Math.min((at + SLICE) / file.size, 1);
    }
  }
  // A write waits while the connection is full.
  async function byStream(url, file) {
    const { readable, writable } = await new WebSocketStream(url).opened;
    const [reader, writer] = [readable.getReader(), writable.getWriter()];
    const { at } = JSON.parse((await reader.read()).value);
    for await (const slice of slices(file, at)) await writer.write(slice);
    await writer.write('end');
    return JSON.parse((await reader.read()).value);
  }
  // WebSocket says nothing when it can take more: the page asks.
  async function byWebSocket(url, file) {
    const socket = new WebSocket(url);
    const message = () => new Promise((resolve, reject) => {
      socket.onmessage = ({ data }) => resolve(JSON.parse(data));
      socket.onclose = () => reject(new Error('The connection was lost'));
    });
    const { at } = await message();
    for await (const slice of slices(file, at)) {
      socket.send(slice);
      while (socket.bufferedAmount > 4 * SLICE) await new Promise((resolve) => setTimeout(resolve, 10));
      if (socket.readyState !== WebSocket.OPEN) break;
    }
    const answer = message();
    if (socket.readyState === WebSocket.OPEN) socket.send('end');
    return answer;
  }
  async function hashOf(file) {
    let hash = new Uint8Array(32);
    for (let at = 0; at < file.size; at += BLOCK) {
      const block = new Uint8Array(await file.slice(at, at + BLOCK).arrayBuffer());
      const bytes = new Uint8Array(32 + block.length);
      bytes.set(hash);
      bytes.set(block, 32);
      hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
    }
    return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('');
  }
  input.onchange = async () => {
    const [file] = input.files;
    const url = new URL(crypto.randomUUID(), location.href.replace(/^http/, 'ws'));
    const send = globalThis.WebSocketStream === undefined ? byWebSocket : byStream;
    line.textContent = 'Uploading ' + file.name;
    let answer;
    while (answer === undefined) {
      try {
        answer = await send(url, file);
      } catch {
        line.textContent = 'The connection was lost. Trying again';
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
    }
    const hash = await hashOf(file).catch(() => null);
    if (hash === null) line.textContent = 'The file can not be read any more';
    else line.textContent = answer.hash === hash ? 'Done: ' + answer.size + ' bytes' : 'The bytes differ';
  };
</script>`;

/** The bytes of an upload, until its end. */
async function* bytesOf(readable) {
  // Leaving the loop would close the WebSocket.
  for await (const chunk of readable.values({ preventCancel: true })) {
    if (chunk === 'end') return;
    yield chunk;
  }
  throw new Error('It closed before the end');
}

/** The same as in the page. */
async function hashOf(file) {
  let hash = Buffer.alloc(32);
  const handle = await fs.promises.open(file);
  try {
    const block = Buffer.alloc(BLOCK);
    for (let at = 0; ; at += BLOCK) {
      const { bytesRead } = await handle.read(block, 0, BLOCK, at);
      if (bytesRead === 0) return hash.toString('hex');
      hash = createHash('sha256').update(hash).update(block.subarray(0, bytesRead)).digest();
    }
  } finally {
    await handle.close();
  }
}

async function receive(socket, file) {
  const { readable, writable } = await WebSocketStream.from(socket).opened;
  const writer = writable.getWriter();
  const target = fs.createWriteStream(file, { flags: 'a' });
  const at = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  await writer.write(JSON.stringify({ at }));
  await pipeline(bytesOf(readable), target);
  await writer.write(JSON.stringify({ size: fs.statSync(file).size, hash: await hashOf(file) }));
  await writer.close();
}

/** @param {string} folder gets the files, each with the id of its upload as its name */
function createServer(folder) {
  /** The uploads that run: an id → its socket, and a promise of its end. */
  const running = new Map();
  const server = http.createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html').end(PAGE);
  });
  // A page of another site could fill the disk. Who may upload, and how much, a real server decides here.
  const verifyClient = ({ origin, req: { url, headers } }) =>
    (origin === undefined || (URL.canParse(origin) && new URL(origin).host === headers.host)) &&
    /^\/[0-9a-f-]{36}$/.test(url);
  new WebSocketServer({ server, verifyClient }).on('connection', (socket, { url }) => {
    const before = running.get(url);
    // The end of a lost connection may be seen after the next one has come.
    before?.socket.terminate();
    const ended = Promise.resolve(before?.ended)
      .then(() => receive(socket, path.join(folder, url)))
      .catch(() => socket.terminate());
    running.set(url, { socket, ended });
    ended.then(() => running.get(url)?.socket === socket && running.delete(url));
  });
  return server;
}

if (require.main === module) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined || !fs.existsSync(folder)) {
    console.error('usage: node examples/upload.js FOLDER');
    process.exit(2);
  }
  const server = createServer(folder).listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
    console.log(`http://localhost:${server.address().port}`);
  });
}

module.exports = { createServer };
