'use strict';

// The inspector's own connections. lib/live.js, which may run in the same process, leaves their
// records out.

const { frameId } = require('./framemask');

const names = new Set();

/** @returns {string} the `connectionId` for both codecs of a connection of the inspector */
function nameOwnConnection() {
  const name = frameId();
  names.add(name);
  return name;
}

/** Forgets a connection that is closed. */
function forgetOwnConnection(name) {
  names.delete(name);
}

/** @returns {boolean} whether a trace record is about a connection of the inspector */
function isOwn({ connection }) {
  return names.has(connection);
}

module.exports = { forgetOwnConnection, isOwn, nameOwnConnection };
