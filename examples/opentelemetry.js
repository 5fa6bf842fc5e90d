'use strict';

// Turns framemask's diagnostics channels into OpenTelemetry: a span for each connection, and
// metrics of frames and messages. `instrument` needs the package @opentelemetry/api alone; the SDK
// that collects and exports is the program's.
//
//     npm install @opentelemetry/api @opentelemetry/sdk-trace-base @opentelemetry/sdk-metrics
//     node examples/opentelemetry.js      a conversation, and what the SDK's console exporters print

const { channel } = require('node:diagnostics_channel');
const { SpanKind, SpanStatusCode, metrics, trace } = require('@opentelemetry/api');

const OPCODES = { 0: 'continuation', 1: 'text', 2: 'binary', 8: 'close', 9: 'ping', 10: 'pong' };
/** Close codes of an ordinary end: all others make a span an error. */
const ORDINARY = new Set([1000, 1001, 1005, 1012]);

/** Call it before connections open. @returns {() => void} ends the subscriptions */
function instrument() {
  const tracer = trace.getTracer('framemask');
  const meter = metrics.getMeter('framemask');
  const open = meter.createUpDownCounter('websocket.connections', { description: 'Open connections' });
  const frames = meter.createCounter('websocket.frames', { description: 'Frames by direction and opcode' });
  const sizes = meter.createHistogram('websocket.message.size', { unit: 'By', description: 'Sizes of messages' });
  /** Connection and role → its span: the two ends of a connection may be in one process. */
  const spans = new Map();
  const nameOf = ({ connection, role }) => `${role} ${connection}`;

  const listeners = {
    'framemask:open'(record) {
      const { role, path, protocol, connection } = record;
      const kind = role === 'server' ? SpanKind.SERVER : SpanKind.CLIENT;
      const attributes = { 'url.path': path ?? '', 'websocket.subprotocol': protocol, 'websocket.id': connection };
      spans.set(nameOf(record), tracer.startSpan(`websocket ${path ?? ''}`.trim(), { kind, attributes }));
      open.add(1, { role });
    },
    'framemask:close'(record) {
      const span = spans.get(nameOf(record));
      spans.delete(nameOf(record));
      open.add(-1, { role: record.role });
      if (span === undefined) return;
      if (record.error !== null) span.recordException(record.error);
      for (const name of ['closeCode', 'sentCode', 'messagesReceived', 'bytesReceived', 'messagesSent', 'bytesSent']) {
        if (record[name] !== null) span.setAttribute(`websocket.${name}`, record[name]);
      }
      if (!ORDINARY.has(record.closeCode))
        span.setStatus({ code: SpanStatusCode.ERROR, message: `closed by ${record.closeCode}` });
      span.end();
    },
    'framemask:frame'({ role, direction, opcode, error }) {
      frames.add(1, { role, direction, opcode: error === null ? OPCODES[opcode] : 'refused' });
    },
    'framemask:message'({ role, direction, length }) {
      sizes.record(length, { role, direction });
    }
  };
  for (const [name, listener] of Object.entries(listeners)) channel(name).subscribe(listener);
  return () => {
    for (const [name, listener] of Object.entries(listeners)) channel(name).unsubscribe(listener);
  };
}

/** A conversation with the echo server, exported to the console. */
async function main() {
  const { once } = require('node:events');
  const { BasicTracerProvider, ConsoleSpanExporter, SimpleSpanProcessor } = require('@opentelemetry/sdk-trace-base');
  const { ConsoleMetricExporter, MeterProvider, PeriodicExportingMetricReader } = require('@opentelemetry/sdk-metrics');
  const { Connection } = require('framemask');
  const { createEchoServer } = require('./echo-server');

  const spans = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(new ConsoleSpanExporter())] });
  const reader = new PeriodicExportingMetricReader({ exporter: new ConsoleMetricExporter() });
  const meters = new MeterProvider({ readers: [reader] });
  trace.setGlobalTracerProvider(spans);
  metrics.setGlobalMeterProvider(meters);

  const stop = instrument();
  const server = createEchoServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  let ends = 2;
  const bothClosed = new Promise((resolve) => channel('framemask:close').subscribe(() => --ends === 0 && resolve()));
  await new Promise((resolve) => {
    Connection.connect(`ws://127.0.0.1:${server.address().port}/chat`, {
      onMessage() {
        this.close(1000);
      },
      onClose: resolve
    }).then((client) => client.send('Hello'));
  });
  server.close();
  await bothClosed;
  stop();
  await Promise.all([spans.shutdown(), meters.shutdown()]);
}

if (require.main === module) main();

module.exports = { instrument };
