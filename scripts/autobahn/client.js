'use strict';

// Runs the client of an example through the cases of a fuzzing server:
//
//     node client.js URL AGENT                     examples/client.js
//     node client.js URL AGENT shared|takeover     examples/deflate.js

const { connect } = require('../../examples/client');
const deflate = require('../../examples/deflate');
const { runCases } = require('./run-cases');
const { deflateOptions } = require('./deflate-options');

/**
 * The limits for a case, in milliseconds. The suite gives one with compressed messages 480 s.
 */
const CASE_TIMEOUT = 120_000;
const DEFLATE_TIMEOUT = 500_000;

const [url, agent, contexts] = process.argv.slice(2);

/**
 * What either client needs to echo messages if the connection is for a case. The largest message
 * has 16 MiB; one of 4 MiB comes in fragments of 64 bytes.
 *
 * @param {string} path
 * @param {{ last: Buffer | null }} result gets the last message
 */
function optionsFor(path, result) {
  return {
    maxPayload: 16 * 1024 * 1024,
    maxFragments: Number.POSITIVE_INFINITY,
    onMessage(data, isBinary) {
      result.last = data;
      // On other paths the suite would take an echo for a command.
      if (path.startsWith('/runCase') && !this.send(data, isBinary)) this.pause();
    },
    onDrain() {
      this.resume();
    }
  };
}

/**
 * Opens a connection of examples/client.js, and waits for its end.
 *
 * @param {string} path
 * @returns {Promise<{ opened: boolean, last: Buffer | null }>} `last` is the last message
 */
function echo(path) {
  return new Promise((resolve) => {
    const result = { opened: false, last: null };
    const connection = connect(url + path, {
      ...optionsFor(path, result),
      text: 'buffer',
      onOpen() {
        result.opened = true;
      },
      onClose() {
        clearTimeout(timer);
        resolve(result);
      }
    });
    const timer = setTimeout(() => connection.close(), CASE_TIMEOUT);
  });
}

/** `echo` with examples/deflate.js. */
async function echoDeflated(path) {
  const result = { opened: false, last: null };
  let timer;
  await new Promise((resolve) => {
    const options = { ...optionsFor(path, result), deflate: deflateOptions(contexts), onClose: resolve };
    const opened = (connection) => {
      result.opened = true;
      timer = setTimeout(() => connection.close(), DEFLATE_TIMEOUT);
    };
    deflate.connect(url + path, options).then(opened, resolve);
  });
  clearTimeout(timer);
  return result;
}

runCases(agent, contexts === undefined ? echo : echoDeflated);
