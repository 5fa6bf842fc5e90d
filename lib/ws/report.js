'use strict';

const { kernel, nativeError } = require('../masking/backend');

/**
 * What is at work, for a log or an issue.
 *
 * @returns {{ kernel: string, nativeError: Error | null, ws: string, reads: string, deflate: string }}
 *   the kernel that masks, and why it is not native; the version of ws; how sockets are read; who
 *   compresses
 */
function report() {
  return { kernel, nativeError, ws: require('ws/package.json').version, reads: 'events', deflate: 'ws' };
}

module.exports = { report };
