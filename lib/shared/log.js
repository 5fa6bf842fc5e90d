'use strict';

const { util } = require('./node-modules');

/** Writes a line to stderr, with NODE_DEBUG=framemask. */
const log = util.debuglog('framemask');

module.exports = { log };
