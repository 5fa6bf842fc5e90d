'use strict';

// The spans that dd-trace 5 and opentelemetry-instrumentation-ws make of a conversation. Both
// replace functions of ws, so each runs in a process of its own, which requires this file before
// the program's other modules.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { text } = require('node:stream/consumers');
const { setTimeout: sleep } = require('node:timers/promises');

/** Starts a tracer, and returns its spans when they are asked for. */
const TRACERS = {
  'dd-trace': () => {
    Object.assign(process.env, {
      DD_TRACE_WEBSOCKET_MESSAGES_ENABLED: 'true',
      DD_INSTRUMENTATION_TELEMETRY_ENABLED: 'false',
      DD_REMOTE_CONFIGURATION_ENABLED: 'false',
      DD_TRACE_STARTUP_LOGS: 'false'
    });
    const tracer = require('dd-trace').init({ plugins: false });
    for (const name of ['http', 'ws']) tracer.use(name, true);
    const spans = [];
    // The agent, which is not there, would be given them.
    tracer._tracer._exporter.export = (trace) => spans.push(...trace);
    return () =>
      spans.map(({ name, resource, meta, metrics }) => ({
        name,
        resource,
        kind: meta['span.kind'],
        message: [meta['websocket.message.type'], metrics['websocket.message.length']],
        close: [meta['websocket.close.code'], meta['websocket.close.reason']]
      }));
  },
  opentelemetry: () => {
    const { AsyncLocalStorageContextManager } = require('@opentelemetry/context-async-hooks');
    const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = require('@opentelemetry/sdk-trace-base');
    const { WSInstrumentation } = require('opentelemetry-instrumentation-ws');
    const exporter = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    provider.register({ contextManager: new AsyncLocalStorageContextManager().enable() });
    const instrumentation = new WSInstrumentation();
    instrumentation.setTracerProvider(provider);
    // Its constructor drops them.
    instrumentation.setConfig({ sendSpans: true, messageEvents: true });
    return () =>
      exporter.getFinishedSpans().map(({ name, kind, status, events }) => ({
        name,
        kind,
        status: status.code,
        events: events.map((event) => event.name)
      }));
  }
};

/** The spans so far, in a process that has a tracer. */
let listSpans;

/** A conversation by the export itself and by its WebSocket, which tracers may tell apart. */
async function talk() {
  const ws = require('ws');
  const received = [];
  for (const WebSocket of [ws, ws.WebSocket]) {
    const server = new ws.WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: { threshold: 0 } });
    await once(server, 'listening');
    server.on('connection', (socket) => {
      socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    });
    for (const options of [{}, { perMessageDeflate: false }]) {
      const client = new WebSocket(`ws://127.0.0.1:${server.address().port}/path`, options);
      await once(client, 'open');
      const messages = [
        ['text'],
        [Buffer.from('bytes')],
        ['with options', { binary: true }],
        ['with callback', () => {}]
      ];
      for (const args of messages) {
        client.send(...args);
        const [data, isBinary] = await once(client, 'message');
        received.push([String(data), isBinary]);
      }
      client.close(1000, 'that was all');
      await once(client, 'close');
    }
    server.close();
    await once(server, 'close');
  }
  return received;
}

/** Runs this file in a process of its own, with a tracer. */
async function trace(name, library) {
  // All of this process's but for the counter of messages, which has loaded ws.
  const args = process.execArgv.filter((_, i, all) => all[i] !== '--require' && all[i - 1] !== '--require');
  const program = ['--eval', `require(${JSON.stringify(__filename)}).main()`];
  const child = spawn(process.execPath, ['--require', __filename, ...args, ...program], {
    env: { ...process.env, TRACER: name, LIBRARY: library },
    stdio: ['ignore', 'pipe', 'inherit']
  });
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return JSON.parse(output.trim().split('\n').at(-1));
}

async function main() {
  const { TRACER: tracer } = process.env;
  const result = { received: await talk() };
  const library = 'report' in require('ws') ? 'framemask/ws' : 'ws';
  if (tracer === undefined) {
    for (const name of Object.keys(TRACERS)) result[name] = await trace(name, library);
  } else {
    if (library !== process.env.LIBRARY) throw new Error(`${library} runs instead of ${process.env.LIBRARY}`);
    // Spans end with the turn, and some with the next.
    await sleep(200);
    const lines = listSpans().map((span) => JSON.stringify(span));
    result.spans = lines.sort();
  }
  console.log(JSON.stringify(result));
  process.exit();
}

if (require.main === module) main();
else listSpans = TRACERS[process.env.TRACER]();

module.exports = { main };
