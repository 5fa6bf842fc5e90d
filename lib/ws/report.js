'use strict';

const { handlesWork } = require('../deflate/zlib-handle');
const { kernel, nativeError } = require('../masking/backend');
const { canShareReads } = require('../sockets/shared-reads');

let registered = false;

/** Has `report` say that framemask/ws/register is at work. */
function setRegistered() {
  registered = true;
}

/**
 * What is at work, for a log or an issue.
 *
 * @returns {{ kernel: string, nativeError: Error | null, ws: string, reads: 'shared' | 'events',
 *   deflate: 'framemask' | 'ws', registered: boolean }} the kernel that masks, and why it is not
 *   native; the version of ws; how sockets are read; who compresses; whether framemask/ws/register
 *   is at work
 */
function report() {
  const { version } = require('ws/package.json');
  const reads = canShareReads() ? 'shared' : 'events';
  const deflate = handlesWork() ? 'framemask' : 'ws';
  return { kernel, nativeError, ws: version, reads, deflate, registered };
}

module.exports = { report, setRegistered };
