'use strict';

// Random orders of events on a Connection over a stream in memory: frames of the peer, calls of the
// program, in handlers and outside, the end and the loss of the stream. The oracle is written from
// sentences of RFC 6455, and imports nothing of lib/connection.

const { Connection, drained, messages, sendStream } = require('../index');
const { collectGarbage } = require('../test/support/collect-garbage');
const { framesFor, readFrame } = require('../test/support/frames');
const { memoryPair } = require('../test/support/stream-pairs');
const { Finding, runProgram } = require('./program');

const CLOSE = 8;
const turn = () => new Promise(setImmediate);

/** Counts a Promise until it is settled: at the end of a connection each is. */
async function settles(state, promise) {
  state.pending++;
  await promise.catch(() => {});
  state.pending--;
}

/** Fragments of a message, some of which come in later turns. */
async function* sourceOf(random) {
  for (let i = random(5); i > 0; i--) {
    if (random(2) === 0) await turn();
    yield 'f'.repeat(random(8) === 0 ? 40_000 : random(50));
  }
}

/** What the program does, in a handler or outside; each changes what the oracle expects. */
const CALLS = {
  send: ({ connection }, random) => connection.send('x'.repeat(random(3) === 0 ? 70_000 : random(100))),
  ping: ({ connection }) => connection.ping('p'),
  stream: (state, random) => settles(state, sendStream(state.connection, sourceOf(random))),
  drained: (state) => settles(state, drained(state.connection)),
  pause(state) {
    state.connection.pause();
    state.isPaused = state.connection.paused;
  },
  resume(state) {
    state.connection.resume();
    state.isPaused = false;
  },
  close(state) {
    state.connection.close(4001);
    state.isClosing = true;
  },
  terminate(state) {
    state.connection.terminate();
    state.isLost = true;
  }
};

/** What the peer does. */
const EVENTS = {
  message(state) {
    const data = `message ${state.sent.length}`;
    if (!state.hasEnded) state.sent.push(data);
    return state.frames.text(data);
  },
  ping: (state) => state.frames.ping('?'),
  close(state) {
    if (!state.hasEnded) state.code = 4000;
    state.hasEnded = true;
    return state.frames.close(4000, 'bye');
  },
  broken(state) {
    state.hasEnded = true;
    return Buffer.from([0xff, 0xff]);
  }
};

/** States of a stream of which no event tells. */
const BEFORE = {
  ended: (stream) => stream.end(),
  read: (stream) => stream.push(null) || stream.resume(),
  destroyed: (stream) => stream.destroy()
};

/** A stream that is over before it is a connection: it is lost at once, and takes nothing. */
async function beginOver(random, count) {
  const names = Object.keys(BEFORE);
  const name = names[random(names.length)];
  count(`before: ${name}`);
  const [stream] = memoryPair();
  BEFORE[name](stream);
  await turn();
  const closes = [];
  const options = { heartbeat: 60_000, onClose: (code) => closes.push(code) };
  const connection = new Connection(stream, 'server', options, { paused: random(2) === 0 });
  if (connection.send('x')) throw new Finding(`${name}: a stream that is over takes a message`);
  if (closes.length > 0) throw new Finding(`${name}: onClose within the constructor`);
  for (let i = 0; i < 5 && closes.length === 0; i++) await turn();
  // A pause holds even this back.
  if (!connection.paused && closes.join() !== '1006') throw new Finding(`${name}: onClose heard ${closes}`);
  return new WeakRef(connection);
}

/** Sends without end, as a program does at onDrain or in callbacks, to a peer that reads slowly. */
function sendOn(state, random) {
  const data = 'x'.repeat(1 + random(40_000));
  state.left = 200_000;
  const again = (error) => {
    if (!error && state.left-- > 0) state.connection.send(data, again);
  };
  state.fill = () => {
    while (state.left-- > 0 && state.connection.send(data));
  };
  for (let i = 1 + random(3); i > 0; i--) again();
  if (random(2) === 0) state.fill();
}

/**
 * Whether a message has come, amid whatever the program sends. A server reads on when what waits has
 * left: 70,000 bytes, of which the peer reads 50 a turn.
 */
async function isHeard(state) {
  for (let i = 0; i < 3000 && state.got.length < state.sent.length; i++) {
    if (state.isPaused || state.isLost || state.hasEnded || state.closes.length > 0) return true;
    await turn();
  }
  return state.got.length === state.sent.length || mayDrop(state);
}

/** A program that reads by loops drops what waits when it calls close() between two of them. */
const mayDrop = ({ hasLoop, isClosing }) => hasLoop && isClosing;

/** Reads the messages by loops, each of which may end before the connection does. */
async function readByLoops(state, random, act) {
  for (let isOver = false; !isOver; ) {
    let left = random(2) === 0 ? Infinity : 1 + random(5);
    const options = random(2) === 0 ? {} : { highWaterMark: { messages: 1 + random(4) } };
    try {
      for await (const { data } of messages(state.connection, options)) {
        state.got.push(data);
        if (random(3) === 0) await turn();
        if (random(6) === 0) act(['send', 'ping', 'stream', 'drained', random(6) === 0 ? 'close' : 'send']);
        if (--left === 0) break;
      }
      isOver = left > 0;
      state.loopError = null;
    } catch (error) {
      state.loopError = error;
      isOver = true;
    }
  }
}

/** In a function of its own: one that waits may keep what it has read. */
const isHeld = (ref) => ref.deref() !== undefined;

async function round(random, count) {
  const held = await (random(10) === 0 ? beginOver : play)(random, count);
  if (random(20) !== 0) return;
  // A compilation in progress may hold it for a while.
  for (let i = 0; i < 100 && isHeld(held); i++) {
    await turn();
    collectGarbage();
  }
  if (isHeld(held)) throw new Finding('something holds a connection whose stream is gone');
}

/** @returns {Promise<WeakRef<Connection>>} */
async function play(random, count) {
  const role = random(2) === 0 ? 'server' : 'client';
  const [stream, peer] = memoryPair();
  const paused = random(8) === 0;
  const hasLoop = random(3) === 0;
  const state = {
    frames: framesFor(role),
    sent: [],
    got: [],
    closes: [],
    code: 1006,
    pending: 0,
    error: null,
    hasLoop
  };
  // A loop resumes the connection.
  state.isPaused = paused && !hasLoop;
  const log = [role, paused ? 'paused' : 'flowing', hasLoop ? 'loop' : 'handlers'];
  const fail = (text) => {
    state.left = 0;
    stream.destroy();
    peer.destroy();
    throw new Finding(`${text}: ${log.join(' ')}`);
  };
  const faults = [];
  const act = (names) => {
    const name = names[random(names.length)];
    log.push(name);
    count(name);
    CALLS[name](state, random);
  };
  const handler = (take) =>
    function (...args) {
      if (state.closes.length > 0) faults.push('a handler after onClose');
      if (state.isPaused && !state.isLost) faults.push('a handler during a pause');
      take(...args);
      state.connection ??= this;
      if (random(6) === 0) act(Object.keys(CALLS));
    };
  const handlers = hasLoop ? {} : { onMessage: handler((data) => state.got.push(data)), onPing: handler(() => {}) };
  state.connection = new Connection(
    stream,
    role,
    {
      ...handlers,
      closeTimeout: 60_000,
      heartbeat: random(2) === 0 ? 60_000 : 0,
      maxBackpressure: Infinity,
      onDrain: () => state.fill?.(),
      onError(error) {
        state.error = error;
      },
      onClose(code) {
        if (state.isPaused && !state.isLost) faults.push('onClose during a pause');
        state.closes.push(code);
      }
    },
    { paused }
  );
  if (hasLoop) settles(state, readByLoops(state, random, act));
  const written = [];
  const isEndless = random(6) === 0;
  peer
    .on('error', () => {})
    .on('data', (chunk) => {
      if (!isEndless) written.push(Buffer.from(chunk));
      if (!isEndless || state.left <= 0) return;
      peer.pause();
      setImmediate(() => peer.resume());
    });
  if (isEndless) {
    log.push('endless');
    count('endless');
    sendOn(state, random);
  }

  for (let i = random(20); i > 0; i--) {
    const choice = random(10);
    if (choice < 6) {
      const name = ['message', 'message', 'message', 'ping', 'close', 'broken'][random(6)];
      log.push(`peer:${name}`);
      // Several frames in one chunk, of which a pause holds some back.
      const bytes = Buffer.concat(Array.from({ length: 1 + random(4) }, () => EVENTS[name](state)));
      const cut = random(bytes.length + 1);
      if (peer.writable)
        for (const part of [bytes.subarray(0, cut), bytes.subarray(cut)]) peer.write(Buffer.from(part));
      else if (!state.hasEnded) state.isLost = true;
      if (isEndless && !(await isHeard(state))) fail('a message is not heard amid those of the program');
    } else if (choice < 9) {
      const pauses = hasLoop ? ['stream', 'drained'] : ['pause', 'resume', 'resume'];
      act(['send', 'send', 'ping', 'stream', ...pauses, ...(random(4) === 0 ? ['close'] : [])]);
    } else await turn();
  }
  state.left = 0;
  const isCut = random(3) === 0;
  log.push(isCut ? 'cut' : 'end');
  if (!hasLoop && random(2) === 0) CALLS.resume(state);
  // What has come before the loss is delivered.
  for (let i = 0; isCut && i < 5; i++) await turn();
  if (isCut) stream.destroy(new Error('lost'));
  else peer.end();
  for (let i = 0; i < 3; i++) await turn();
  // A handler may have paused: nothing is over then.
  for (let i = 0; i < 200 && (state.closes.length === 0 || state.pending > 0); i++) {
    if (!hasLoop && (i === 0 || i > 50)) CALLS.resume(state);
    await turn();
  }
  if (faults.length > 0) fail(faults[0]);
  // "The WebSocket Connection is Closed" once (section 7.1.4).
  if (state.closes.length !== 1) fail(`onClose was called ${state.closes.length} times`);
  if (state.connection.readyState !== 3) fail('it is not closed');
  // "the status code contained in the first Close control frame received" (section 7.1.5).
  if (![state.code, state.isLost ? 1006 : state.code].includes(state.closes[0])) fail(`the code ${state.closes[0]}`);
  // Messages are delivered in order, and all of them, unless the program dropped the connection, or
  // closed it between two loops.
  const isWhole = !state.isLost && !mayDrop(state);
  const kept = mayDrop(state) ? state.sent.filter((data) => state.got.includes(data)) : state.sent;
  if (state.got.some((data, i) => data !== kept[i])) fail('another message');
  if (isWhole && state.got.length !== state.sent.length) fail(`${state.got.length} of ${state.sent.length} messages`);
  if (state.pending > 0) fail(`${state.pending} loops, streams or calls of drained() do not end`);
  if (hasLoop && isWhole && state.loopError !== state.error)
    fail(`the loop ended by ${state.loopError}, the connection by ${state.error}`);
  // "The application MUST NOT send any more data frames after sending a Close frame" (section
  // 5.5.1).
  const bytes = Buffer.concat(written);
  let [hasClose, isAmid] = [false, false];
  for (let at = 0; at < bytes.length; ) {
    const next = readFrame(bytes.subarray(at));
    if (next === null) break;
    if (hasClose) fail('a frame after the Close frame');
    const opcode = next.header[0] & 15;
    hasClose = opcode === CLOSE;
    // "MUST NOT be interleaved between the fragments of another message" (section 5.4).
    if (opcode < CLOSE) {
      if ((opcode === 0) !== isAmid) fail('fragments of two messages are mixed');
      isAmid = next.header[0] < 128;
    }
    at += next.end;
  }
  // "the endpoint MUST send a Close frame in response".
  if (!isEndless && state.code === 4000 && !state.isLost && !isCut && !hasClose) fail('no Close frame in answer');
  stream.destroy();
  peer.destroy();
  return new WeakRef(state.connection);
}

const PURPOSE = `Has a peer and a program act on a Connection in random orders, and compares what the program hears and the peer gets
with what RFC 6455 says.`;

runProgram('connection.js', PURPOSE, round);
