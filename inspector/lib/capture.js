'use strict';

// Captures (pcap, pcapng), read by tshark.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs/promises');
const os = require('node:os');
const path = require('node:path');
const { createInterface } = require('node:readline');
const { connectionOf } = require('./handshake');
const { Judge, State } = require('./judge');
const { parseFrame } = require('./parse-frames');
const { SegmentList } = require('./segments');
const { addStreams, senderOf } = require('./streams');
const { followArguments, isTls, readFollowed } = require('./tls');

const MISSING =
  'tshark is not installed, and captures are read by it. Install it (Debian and Ubuntu: apt-get install tshark; ' +
  'macOS: brew install wireshark; Windows: Wireshark), or set the environment variable TSHARK to the program.';

const FIELDS = (
  'frame.number frame.time_epoch tcp.stream ip.src ipv6.src tcp.srcport ip.dst ipv6.dst tcp.dstport ' +
  'tcp.seq tcp.len tcp.flags.syn tcp.flags.ack tcp.payload'
).split(' ');

const PACKETS = [
  ...['-Y', 'tcp.len > 0 || tcp.flags.syn == 1', '-T', 'fields', '-E', 'occurrence=f'],
  ...FIELDS.flatMap((field) => ['-e', field])
];

/** pcap in both byte orders, with micro- and nanoseconds, and pcapng. */
const MAGIC = new Set(['d4c3b2a1', 'a1b2c3d4', '4d3cb2a1', 'a1b23c4d', '0a0d0d0a']);

/** @returns {boolean} whether a file is a capture */
function isCapture(data) {
  return MAGIC.has(data.subarray(0, 4).toString('hex'));
}

const ENCRYPTED = 'of TLS, which is encrypted';
const KEYS_WANTED =
  'To read them, open the log of their keys, too: a file that the environment variable SSLKEYLOGFILE has a browser ' +
  'write, or --tls-keylog Node.js. It must be of the time of the capture.';

/** Runs tshark on a file, and calls `onLine` with each line of its answer. */
async function runTshark(file, args, onLine) {
  // -n: no names are looked up.
  const options = ['-n', '-r', file, '-o', 'tcp.relative_sequence_numbers:TRUE', ...args];
  const child = spawn(process.env.TSHARK ?? 'tshark', options, { stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    if (errors.length < 2000) errors += chunk;
  });
  const ended = once(child, 'close').catch((error) => {
    throw error.code === 'ENOENT' ? new Error(MISSING) : error;
  });
  ended.catch(() => {});
  for await (const line of createInterface({ input: child.stdout.setEncoding('latin1') })) onLine(line);
  const [code] = await ended;
  return { code, said: errors.replace(/^Running as user.*$/m, '').trim() };
}

/** Adds a packet to a capture's TCP connections, by the number that tshark gives them. */
function addPacket(connections, line) {
  const [order, time, number, ip4, ip6, port, toIp4, toIp6, toPort, seq, length, syn, ack, payload] = line.split('\t');
  if (seq === undefined) return;
  const source = `${ip4 || `[${ip6}]`}:${port}`;
  const target = `${toIp4 || `[${toIp6}]`}:${toPort}`;
  if (!connections.has(number)) {
    const ends = [source, target].map((end) => [end, new SegmentList()]);
    connections.set(number, { ends: new Map(ends), client: null });
  }
  const connection = connections.get(number);
  const segments = connection.ends.get(source);
  const isSyn = /^(1|true)$/i.test(syn);
  if (isSyn) {
    segments.hasStart = true;
    connection.client ??= /^(1|true)$/i.test(ack) ? target : source;
  }
  if (Number(length) === 0) return;
  segments.add({
    seq: Number(seq) + (isSyn ? 1 : 0),
    length: Number(length),
    payload: Buffer.from((payload ?? '').replaceAll(':', ''), 'hex'),
    order: Number(order),
    time: Number(time) * 1000
  });
}

/** @returns the streams of both ends, each with the name of its end */
function streamsOf({ ends, client, decrypted }) {
  const names = [...ends.keys()];
  const joined = decrypted ?? [...ends.values()].map((segments) => segments.join());
  const sends = (stream, beginning) => stream.bytes.toString('latin1', 0, beginning.length) === beginning;
  // tshark does not say which end is which, but the handshake does.
  const sender =
    (decrypted === undefined ? joined[names.indexOf(client)] : undefined) ??
    joined.find((stream) => sends(stream, 'GET ')) ??
    joined.find(({ bytes }) => senderOf(bytes) === 'client') ??
    joined[0];
  const name = client ?? names[joined.indexOf(sender)];
  const server = joined.find((stream) => stream !== sender);
  return {
    client: { name, ...sender },
    server: server && { name: names.find((each) => each !== name), ...server }
  };
}

/** Whether a connection that began before the capture has frames: the first ones must be good. */
function looksLikeFrames(streams) {
  const ends = Object.entries(streams).filter(([, stream]) => stream?.bytes.length > 0);
  const isGood = ([from, { bytes }]) => new Judge(from).judge(parseFrame(bytes, 0)).state === State.GOOD;
  return ends.length > 0 && ends.every(isGood);
}

/** @returns {string} the kind of a connection without frames */
function otherKind({ client, server }) {
  const ends = [client, server].filter((stream) => stream?.bytes.length > 0);
  if (ends.length === 0) return 'without data';
  return isTls(ends[0].bytes) ? ENCRYPTED : 'without WebSocket frames';
}

async function addConnections(session, connections) {
  const others = new Map();
  const found = [];
  for (const tcp of connections.values()) {
    const streams = streamsOf(tcp);
    const addresses = { client: streams.client.name, server: streams.server?.name };
    const { hasHandshake, ...connection } = connectionOf(streams, addresses, tcp.decrypted ? 'wss' : 'ws');
    if (!hasHandshake && !looksLikeFrames(streams)) {
      const kind = otherKind(streams);
      others.set(kind, (others.get(kind) ?? 0) + 1);
      continue;
    }
    found.push(connection);
    const { name } = connection;
    if (!hasHandshake) session.note(`${name} began before the capture: its handshake is missing.`);
    for (const from of ['client', 'server']) {
      const missing = streams[from]?.missing;
      if (!missing) continue;
      const { count, after } = missing;
      session.note(`${name}: ${count} bytes of the ${from} are missing after byte ${after}; the rest cannot be read.`);
    }
  }
  for (const [kind, count] of others) session.note(`${count} TCP connection${count === 1 ? '' : 's'} ${kind}.`);
  if (others.has(ENCRYPTED)) session.note(KEYS_WANTED);
  if (found.length === 0) session.note('The capture has no WebSocket connection that can be read.');
  await addStreams(session, found);
}

/** Has tshark decrypt the connections of TLS that it has keys for. */
async function decrypt(file, connections, keyFile) {
  const encrypted = [...connections.values()].filter(({ ends }) => {
    return [...ends.values()].some((segments) => isTls(segments.join().bytes));
  });
  if (encrypted.length === 0) return;
  const lines = [];
  await runTshark(file, followArguments(encrypted, keyFile), (line) => lines.push(line));
  for (const { first, streams } of readFollowed(lines)) {
    const tcp = encrypted.find(({ ends }) => [...ends.values()].some((segments) => segments.hasPacket(first)));
    if (tcp !== undefined) tcp.decrypted = streams;
  }
}

/**
 * Reads a capture into the session, with the keys of TLS if there are some.
 * @throws {Error} that says what is wrong: no tshark, no capture, no connection in it
 */
async function readCapture(session, data, keys) {
  const { generation } = session;
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'framemask-inspector-'));
  try {
    const file = path.join(folder, 'capture');
    await fs.writeFile(file, data, { mode: 0o600 });
    const connections = new Map();
    const { code, said } = await runTshark(file, PACKETS, (line) => addPacket(connections, line));
    if (session.generation !== generation) return; // it was cleared
    if (code !== 0) {
      if (connections.size === 0) throw new Error(`tshark cannot read this capture: ${said}`);
      session.note(`tshark did not read all of the capture: ${said.replaceAll(file, 'it')}`);
    }
    if (keys !== null) {
      const keyFile = path.join(folder, 'keys');
      await fs.writeFile(keyFile, keys, { mode: 0o600 });
      await decrypt(file, connections, keyFile);
      if (session.generation !== generation) return;
    }
    await addConnections(session, connections);
  } finally {
    await fs.rm(folder, { recursive: true, force: true });
  }
}

module.exports = { MISSING, isCapture, readCapture };
