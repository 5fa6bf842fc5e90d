'use strict';

/**
 * The modules of Node.js that lib/ uses, from process.getBuiltinModule (Node.js 20.16 and later) if
 * it exists: where a bundler has put this CommonJS module into an ES module, there is no `require`
 * for them (esbuild: 'Dynamic require of "node:path" is not supported').
 */
const get = process.getBuiltinModule;

module.exports = {
  buffer: get ? get('node:buffer') : require('node:buffer'),
  crypto: get ? get('node:crypto') : require('node:crypto'),
  diagnosticsChannel: get ? get('node:diagnostics_channel') : require('node:diagnostics_channel'),
  fs: get ? get('node:fs') : require('node:fs'),
  // Programs that open no socket do not load it.
  get net() {
    return get ? get('node:net') : require('node:net');
  },
  nodeModule: get ? get('node:module') : require('node:module'),
  path: get ? get('node:path') : require('node:path'),
  url: get ? get('node:url') : require('node:url'),
  util: get ? get('node:util') : require('node:util'),
  v8: get ? get('node:v8') : require('node:v8'),
  zlib: get ? get('node:zlib') : require('node:zlib')
};
