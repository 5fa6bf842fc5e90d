'use strict';

const { kernel, nativeError } = require('../masking/backend');

let registered = false;

/** Has `report` say that framemask/ws/register is at work. */
function setRegistered() {
  registered = true;
}

/**
 * What is at work, for a log or an issue.
 *
 * @returns {{
 *   kernel: string, nativeError: Error | null, ws: string, reads: string, deflate: string, registered: boolean
 * }}
 *   the kernel that masks, and why it is not native; the version of ws; how sockets are read; who
 *   compresses; whether framemask/ws/register is at work
 */
function report() {
  return { kernel, nativeError, ws: require('ws/package.json').version, reads: 'events', deflate: 'ws', registered };
}

module.exports = { report, setRegistered };
