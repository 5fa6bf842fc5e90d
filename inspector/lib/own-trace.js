'use strict';

const { frameId } = require('./framemask');

/**
 * The trace of the inspector's own connections in this process: live.js leaves their records out.
 */
const OWN = { id: frameId() };

module.exports = { OWN };
