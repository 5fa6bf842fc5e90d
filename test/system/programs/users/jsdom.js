'use strict';

// Pages in jsdom, whose WebSocket is `ws`: text, Blobs and ArrayBuffers, events, close codes, and a
// window that is closed while its connection is open.

const { once } = require('node:events');
const { JSDOM } = require('jsdom');
const { WebSocketServer } = require('ws');

/** A page calls `done` with a list of what it has seen. This one sends all kinds of messages. */
const PAGE = `<script>
  const seen = [];
  const socket = new WebSocket(location.hash.slice(1), ['chat', 'other']);
  const large = new Uint8Array(200000).map((_, i) => i % 251);
  socket.onopen = () => {
    seen.push(['open', socket.protocol, socket.extensions !== '', socket.readyState]);
    socket.binaryType = 'arraybuffer';
    const blob = new Blob(['a ', 'blob']);
    for (const data of ['text ü€😀', new Uint8Array([0, 128, 255]).buffer, large, blob, 'now blobs']) socket.send(data);
  };
  const toList = (data) => {
    if (typeof data === 'string') return ['text', data];
    if (data instanceof Blob) return ['Blob', data.size];
    const bytes = new Uint8Array(data);
    const same = bytes.length !== large.length || bytes.every((byte, i) => byte === large[i]);
    return ['ArrayBuffer', bytes.length, [...bytes.subarray(0, 6)], same];
  };
  socket.addEventListener('message', ({ data, origin }) => {
    seen.push(['message', ...toList(data), origin.startsWith('ws://127.0.0.1:')]);
    if (data instanceof Blob) socket.close(4321, 'the page has seen enough');
    if (data !== 'now blobs') return;
    socket.binaryType = 'blob';
    socket.send(new Uint8Array(7));
  });
  socket.onclose = ({ code, reason, wasClean }) => {
    seen.push(['close', code, reason, wasClean, socket.readyState, socket.bufferedAmount]);
    done(seen);
  };
  socket.onerror = () => seen.push(['error']);
</script>`;

/** @returns {string} a page that says how its connection ended */
const witness = (act = '') => `<script>
  const seen = [];
  const socket = new WebSocket(location.hash.slice(1));
  socket.onerror = () => seen.push('error');
  socket.onmessage = ({ data }) => seen.push(data);
  socket.onclose = ({ code, reason, wasClean }) => done([...seen, code, reason, wasClean]);
  ${act}
</script>`;

/** @returns {{ dom: JSDOM, done: Promise<any[]> }} */
function open(url, page) {
  let dom;
  const done = new Promise((resolve) => {
    const beforeParse = (window) => {
      window.done = resolve;
    };
    dom = new JSDOM(page, { url: `http://127.0.0.1/#${url}`, runScripts: 'dangerously', beforeParse });
  });
  return { dom, done };
}

async function main() {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: true });
  const closes = [];
  server.on('connection', (socket, { url }) => {
    socket.on('close', (code, reason) => closes.push(`${url} ${code} ${reason}`));
    socket.on('error', (error) => closes.push(`${url} ${error.code}`));
    if (url === '/echo') socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    if (url === '/bye') socket.send('last words', () => socket.close(3000, 'bye'));
    if (url === '/cut') socket.terminate();
    // Not UTF-8: the page must refuse it.
    if (url === '/bad') socket._socket.write(Buffer.from([0x81, 2, 0xc3, 0x28]));
  });
  await once(server, 'listening');
  const base = `ws://127.0.0.1:${server.address().port}`;
  const result = {};
  for (const [name, page] of Object.entries({ echo: PAGE, bye: witness(), cut: witness(), bad: witness() })) {
    const { dom, done } = open(`${base}/${name}`, page);
    result[name] = await done;
    dom.window.close();
  }
  result.early = await open(`${base}/echo`, witness('socket.close();')).done;
  // The window ends its connections itself.
  const { dom } = open(`${base}/idle`, witness());
  const [socket] = await once(server, 'connection');
  dom.window.close();
  await once(socket, 'close');
  result.closes = closes;
  server.close();
  console.log(JSON.stringify(result));
}

main();
