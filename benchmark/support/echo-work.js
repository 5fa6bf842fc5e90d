'use strict';

/** How many connections send to an echo server. */
const CONNECTIONS = 10;

/**
 * What each connection sends at once, before it waits for all of it to come back.
 *
 * @type {Record<string, { pipelined: number, size: number }>}
 */
const ECHO = {
  '1 × 64 B': { pipelined: 1, size: 64 },
  '100 × 64 B': { pipelined: 100, size: 64 },
  '50 × 1 KiB': { pipelined: 50, size: 1024 },
  '4 × 16,000 B': { pipelined: 4, size: 16_000 },
  '4 × 64 KiB': { pipelined: 4, size: 64 * 1024 },
  '1 × 1 MiB': { pipelined: 1, size: 1024 * 1024 }
};

/** Messages that are compressed. */
const COMPRESSED = {
  '1 × 1 KiB': { pipelined: 1, size: 1024, deflate: true },
  '20 × 1 KiB': { pipelined: 20, size: 1024, deflate: true },
  '4 × 16,000 B': { ...ECHO['4 × 16,000 B'], deflate: true }
};

/** Messages of which a server sends none back, but a short text that follows them. */
const UPLOAD = {
  '64 × 64 KiB': { pipelined: 64, size: 64 * 1024, upload: true },
  '64 × 64 KiB, 100 connections': { pipelined: 64, size: 64 * 1024, upload: true, connections: 100 }
};

module.exports = { COMPRESSED, CONNECTIONS, ECHO, UPLOAD };
