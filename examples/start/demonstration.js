'use strict';

const { once } = require('node:events');
const { randomBytes } = require('node:crypto');
const { WebSocket } = require('ws');

const { readFrame, tapSocket } = require('./wire');

/** One message for each size of the length field: 7, 16 and 64 bits. */
const MESSAGES = [
  Buffer.from('Masked by the client, unmasked by the server, and back: ¡hola!'),
  randomBytes(1000),
  randomBytes(100_000)
];

/**
 * Sends messages to an echo server with the client of ws, and prints the bytes of each on the wire.
 *
 * @param {string} url
 * @param {(line: string) => void} print
 * @returns {Promise<boolean>} true if every byte came back right
 */
async function demonstrate(url, print) {
  const client = new WebSocket(url, { perMessageDeflate: false });
  const upgraded = once(client, 'upgrade').then(([response]) => tapSocket(response.socket));
  await once(client, 'open');
  const wire = await upgraded;

  const closed = once(client, 'close').then(() => []);
  let allRight = true;
  for (const [i, message] of MESSAGES.entries()) {
    const isText = i === 0;
    client.send(isText ? message.toString() : message);
    const [answer, isBinary] = await Promise.race([once(client, 'message'), closed]);
    if (answer === undefined) {
      print(`WRONG: the server has closed the connection after message ${i + 1}`);
      return false;
    }
    const sent = readFrame(wire.takeSent());
    const received = readFrame(wire.takeReceived());
    const right = isBinary !== isText && answer.equals(message) && received.payload.equals(message);
    print(`${isText ? 'A text' : 'A binary'} message of ${message.length} bytes`);
    print(`  client to server  header    ${showBytes(sent.header)}`);
    print(`                    key       ${showBytes(sent.key)}`);
    print(`                    masked    ${showBytes(sent.payload)}`);
    print(`  server to client  header    ${showBytes(received.header)}`);
    print(`                    unmasked  ${showBytes(received.payload)}`);
    if (isText) print(`                    as text   ${answer}`);
    print(right ? '  Every byte came back right\n' : '  WRONG: it came back as another message\n');
    allRight &&= right;
  }
  client.close();
  await closed;
  return allRight;
}

const SHOWN = 16;

/**
 * @param {Buffer} bytes
 * @returns {string} the first 16 in hexadecimal, and the number of the others
 */
function showBytes(bytes) {
  const shown = bytes.toString('hex', 0, SHOWN).replace(/..(?=.)/g, '$& ');
  return bytes.length > SHOWN ? `${shown} and ${bytes.length - SHOWN} more` : shown;
}

module.exports = { demonstrate };
