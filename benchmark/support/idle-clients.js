'use strict';

// The client process that ws.js forks to weigh connections: it opens as many as it is told, and has
// each send one message when it is told so.

const { asciiPayload, maskedFrame, TEXT } = require('./messages');
const { connect } = require('./raw-client');

const sockets = [];
let replies = 0;
let onReplies = () => {};

async function open(port, count) {
  for (let i = 0; i < count; i++) sockets.push(await connect(port, onBytes));
}

function onBytes() {
  replies++;
  onReplies();
}

/** @returns {Promise<void>} when each has its answer */
function echo() {
  const frame = maskedFrame(TEXT, asciiPayload(64));
  replies = 0;
  return new Promise((resolve) => {
    onReplies = () => {
      if (replies === sockets.length) resolve();
    };
    for (const socket of sockets) socket.write(frame);
  });
}

process.on('message', async ({ port, count }) => {
  if (count > 0) await open(port, count);
  else await echo();
  process.send({ done: true });
});
