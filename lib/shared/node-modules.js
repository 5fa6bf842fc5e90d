'use strict';

/**
 * The modules of Node.js that lib/ uses, each loaded when it is first read: all of them take 6 ms.
 *
 * From process.getBuiltinModule (Node.js 20.16 and later) if it exists: where a bundler has put this
 * CommonJS module into an ES module, `require` does not load them (esbuild: 'Dynamic require of
 * "node:path" is not supported').
 */
const get = process.getBuiltinModule;

module.exports = {
  get asyncHooks() {
    return get ? get('node:async_hooks') : require('node:async_hooks');
  },
  get buffer() {
    return get ? get('node:buffer') : require('node:buffer');
  },
  get crypto() {
    return get ? get('node:crypto') : require('node:crypto');
  },
  get diagnosticsChannel() {
    return get ? get('node:diagnostics_channel') : require('node:diagnostics_channel');
  },
  get fs() {
    return get ? get('node:fs') : require('node:fs');
  },
  get http() {
    return get ? get('node:http') : require('node:http');
  },
  get http2() {
    return get ? get('node:http2') : require('node:http2');
  },
  get net() {
    return get ? get('node:net') : require('node:net');
  },
  get nodeModule() {
    return get ? get('node:module') : require('node:module');
  },
  get path() {
    return get ? get('node:path') : require('node:path');
  },
  get stream() {
    return get ? get('node:stream') : require('node:stream');
  },
  get tls() {
    return get ? get('node:tls') : require('node:tls');
  },
  get url() {
    return get ? get('node:url') : require('node:url');
  },
  get util() {
    return get ? get('node:util') : require('node:util');
  },
  get v8() {
    return get ? get('node:v8') : require('node:v8');
  },
  get zlib() {
    return get ? get('node:zlib') : require('node:zlib');
  }
};
