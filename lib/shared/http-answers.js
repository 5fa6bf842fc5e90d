'use strict';

const modules = require('./node-modules');
const { Buffer } = require('./buffers');
const { invalidType } = require('./errors');
const { TOKEN } = require('./header-lists');
const { checkObject } = require('./option-names');

// Answers to HTTP requests on their sockets.

/** HTTP's visible characters, spaces and obs-text (RFC 9110 section 5.5). */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

function refuseUpgrade(socket, status = 400, headers = {}) {
  checkSocket(socket);
  if (!(Number.isInteger(status) && status >= 200 && status <= 999)) {
    throw invalidType('status', 'a status code from 200 to 999', status);
  }
  // The client may be gone.
  socket.on('error', () => {});
  socket.once('finish', socket.destroy);
  const answer = { Connection: 'close', 'Content-Length': 0 };
  socket.end(responseOf(`${status} ${modules.http.STATUS_CODES[status] ?? ''}`, answer, headers));
  return null;
}

/** A response with header fields, of which the program's own replace those of the same name. */
function responseOf(status, fields, headers) {
  const own = Object.entries(checkObject(headers ?? {}, 'headers'));
  const ownNames = own.map(([name]) => name.toLowerCase());
  const others = Object.entries(fields).filter(([name]) => !ownNames.includes(name.toLowerCase()));
  let text = `HTTP/1.1 ${status}\r\n`;
  for (const [name, value] of [...others, ...own]) {
    if (value === undefined) continue;
    // A line break would begin another header, or another answer.
    const isValid = typeof value === 'string' ? FIELD_VALUE.test(value) : typeof value === 'number';
    if (!TOKEN.test(name) || !isValid) throw invalidType(`headers.${name}`, 'a header field', value);
    text += `${name}: ${value}\r\n`;
  }
  return Buffer.from(`${text}\r\n`, 'latin1');
}

function checkSocket(socket) {
  if (typeof socket?.on !== 'function') throw invalidType('socket', 'a socket', socket);
}

module.exports = { checkSocket, refuseUpgrade, responseOf };
