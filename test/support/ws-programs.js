'use strict';

/**
 * The packages that run on ws, and their versions. test/system/programs and benchmark/programs.js
 * install them.
 */
module.exports = {
  '@opentelemetry/context-async-hooks': '1.30.1',
  '@opentelemetry/sdk-trace-base': '1.30.1',
  '@fastify/websocket': '11.3.6',
  '@y/websocket-server': '0.1.1',
  'dd-trace': '5.132.0',
  fastify: '5.12.8',
  graphql: '16.11.0',
  'graphql-ws': '6.4.2',
  jsdom: '26.1.0',
  'opentelemetry-instrumentation-ws': '0.5.0',
  'socket.io': '4.8.4',
  'socket.io-client': '4.8.4',
  ws: '8.23.0',
  'y-protocols': '1.0.7',
  'y-websocket': '3.0.0',
  yjs: '13.6.33'
};
