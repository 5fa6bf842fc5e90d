'use strict';

// A page and its WebSockets on one HTTP/2 connection: node examples/http2.js KEY CERT, both files
// in PEM. Browsers speak HTTP/2 with TLS only; those without RFC 8441 use HTTP/1.1 on the same
// port.
//
//     openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
//       -subj /CN=localhost -keyout key.pem -out cert.pem
//     node examples/http2.js key.pem cert.pem

const fs = require('node:fs');
const http2 = require('node:http2');
const { acceptHttp2 } = require('framemask');
const { WebSocketServer } = require('framemask/ws');

const PAGE = `<!doctype html><meta charset="utf-8"><title>HTTP/2</title><pre></pre><script>
  for (let i = 1; i <= 8; i++) {
    const socket = new WebSocket('wss://' + location.host);
    socket.onopen = () => socket.send('WebSocket ' + i);
    socket.onmessage = ({ data }) => (document.querySelector('pre').textContent += data + '\\n');
  }
</script>`;

/** @param {{ key: Buffer | string, cert: Buffer | string }} certificate */
function createServer({ key, cert }) {
  const settings = { maxConcurrentStreams: 100 };
  const server = acceptHttp2(http2.createSecureServer({ key, cert, allowHTTP1: true, settings }));
  server.on('request', (_request, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end(PAGE);
  });
  new WebSocketServer({ server }).on('connection', (socket, request) => {
    socket.on('message', (data) => socket.send(`${data} over HTTP/${request.httpVersion}`));
    socket.on('error', () => {}); // 'close' follows
  });
  return server;
}

if (require.main === module) {
  const [key, cert] = process.argv.slice(2).map((file) => fs.readFileSync(file));
  if (cert === undefined) {
    console.error('usage: node examples/http2.js KEY CERT');
    process.exit(2);
  }
  const server = createServer({ key, cert }).listen(Number(process.env.PORT ?? 8443), () => {
    console.log(`https://localhost:${server.address().port}`);
  });
}

module.exports = { createServer };
