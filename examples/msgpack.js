'use strict';

// Typed records as binary messages. msgpackr packs each record into memory that it reuses, a
// client's Connection masks it into a frame, a server's delivers it, and msgpackr unpacks it in
// place.
//
//     node examples/msgpack.js
//
// It sends 1,000 records over a socket. The exit code is 1 if one of them arrives changed.

const assert = require('node:assert');
const { randomBytes, randomInt } = require('node:crypto');
const { EventEmitter, once } = require('node:events');
const net = require('node:net');
const { Packr, RESET_BUFFER_MODE, unpack } = require('msgpackr');
const { Connection } = require('framemask');

const MAX_BYTES = 65535;
const ALPHABET = ['a', 'é', '世', '🜂']; // 1, 2, 3 and 4 bytes of UTF-8

/** What makes the value of each field. A record has about 80 % of the fields. */
const fields = {
  int8: () => randomBytes(1).readInt8(),
  uint8: () => randomBytes(1).readUInt8(),
  int16: () => randomBytes(2).readInt16LE(),
  uint16: () => randomBytes(2).readUInt16LE(),
  int32: () => randomBytes(4).readInt32LE(),
  uint32: () => randomBytes(4).readUInt32LE(),
  safeInteger: () => Number(randomBytes(8).readBigInt64LE() >> 10n),
  int64: () => randomBytes(8).readBigInt64LE(),
  uint64: () => randomBytes(8).readBigUInt64LE(),
  float32: () => Math.fround(Math.random()),
  float64: () => Math.random() * 1e300,
  time: () => new Date(randomInt(2 ** 41)),
  flag: () => Math.random() < 0.5,
  bytes: () => randomBytes(randomInt(MAX_BYTES + 1)),
  string: () => randomString(randomInt(MAX_BYTES + 1))
};

/** @returns {string} `length` bytes in UTF-8, or up to three fewer */
function randomString(length) {
  const kind = ALPHABET[randomInt(ALPHABET.length)];
  return kind.repeat(Math.floor(length / Buffer.byteLength(kind)));
}

function randomRecord() {
  const record = {};
  for (const [name, make] of Object.entries(fields)) {
    if (Math.random() < 0.8) record[name] = make();
  }
  return record;
}

/** Sends the records as fast as the connection takes them. */
async function send(records, connection) {
  // Without shared structures, msgpackr writes plain MessagePack, which every language can read.
  const packr = new Packr({ useRecords: false });
  for (const record of records) {
    // `send` copies and masks the bytes before it returns, so the next record may overwrite them.
    const more = connection.send(packr.pack(record, RESET_BUFFER_MODE));
    if (!more) await once(connection.context, 'drain');
  }
  connection.close(1000);
}

/** @returns {Promise<number>} the bytes received, after all records arrived and were found equal */
function receive(records, socket) {
  return new Promise((resolve, reject) => {
    let count = 0;
    new Connection(socket, 'server', {
      maxPayload: 1024 * 1024,
      onMessage(data, isBinary) {
        try {
          assert.strictEqual(isBinary, true);
          // Bytes in the record are views of the frame; nothing is copied.
          assert.deepStrictEqual(unpack(data), records[count], `record ${count} differs`);
          count++;
        } catch (error) {
          reject(error);
          this.terminate();
        }
      },
      onClose() {
        if (count === records.length) resolve(socket.bytesRead);
        else reject(new Error('The connection was lost'));
      },
      onError: reject
    });
  });
}

async function main(count) {
  const records = Array.from({ length: count }, randomRecord);
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new Connection(net.connect(server.address().port, '127.0.0.1'), 'client', {
    context: new EventEmitter(),
    onDrain() {
      this.context.emit('drain');
    }
  });
  const [socket] = await once(server, 'connection');
  try {
    const start = performance.now();
    const [bytes] = await Promise.all([receive(records, socket), send(records, client)]);
    const took = performance.now() - start;
    console.log(`${count} records, ${(bytes / 1e6).toFixed(1)} MB in frames, ${took.toFixed(0)} ms: all came as sent`);
  } finally {
    client.terminate();
    socket.destroy();
    server.close();
  }
}

if (require.main === module) {
  main(1000).catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
