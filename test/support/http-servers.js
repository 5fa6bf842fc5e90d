'use strict';

const http = require('node:http');
const http2 = require('node:http2');
const https = require('node:https');
const { acceptHttp2 } = require('../../index.js');
const certificate = require('./certificate');

/** Creates the server of each transport over which a WebSocket's handshake goes: it emits 'upgrade'. */
const HTTP_SERVERS = {
  TCP: () => http.createServer(),
  TLS: () => https.createServer(certificate),
  pipe: () => http.createServer(),
  'HTTP/2': () => acceptHttp2(http2.createServer())
};

module.exports = { HTTP_SERVERS };
