'use strict';

// Many encoders at a time, which share memory, and sinks of every kind: that read late, act on
// encoders while they are written to, transfer or overwrite what they are given, or throw. The
// reference decodes what each connection was sent: it must be exactly what was encoded on it, with
// no byte of another. `node fuzz/encoders.js --help`

const { channel } = require('node:diagnostics_channel');
const { Encoder } = require('../lib/codec/encoder');
const { createCodecBackend } = require('../lib/codec/backend');
const { prepare } = require('../lib/codec/prepared');
const { encoderOver } = require('../test/support/codecs');
const { closePayload } = require('../test/support/frames');
const { createRandom } = require('../test/support/random');
const { Finding, runProgram, show } = require('./program');
const { ReferenceDecoder } = require('./reference');

const JavascriptEncoder = encoderOver(createCodecBackend(null));

const CHANNELS = [channel('framemask:frame'), channel('framemask:message')];

/** How deep sinks and subscribers that act may nest. */
const MAX_DEPTH = 3;
/** Lengths at which encoders change how they write, and those beside them. */
const EDGES = [0, 125, 126, 1010, 1024, 4080, 4096, 12288, 16 << 10, 32 << 10, 65510, 65522, 65535, 65536];

// Data is cut from these. Each place looks different from all others.
const random = createRandom(1);
const BYTES = Buffer.from(Uint8Array.from({ length: 1 << 18 }, () => random(256)));
const ASCII = BYTES.toString('base64').slice(0, 1 << 17);
const WIDE = Array.from({ length: 1 << 15 }, () => ['a', 'é', '한', '😀', '\ufeff', '\0'][random(6)]).join('');

/** @returns {Buffer} in its own memory: an encoder hands it out, and Node's pool is shared */
function ofItsOwn(data) {
  const bytes = Buffer.from(data);
  return Buffer.from(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

class Sink {
  constructor(world, connection) {
    const { chance } = world;
    this.world = world;
    this.connection = connection;
    this.writable = true;
    this.late = chance(2);
    this.acts = chance(3);
    this.throws = chance(12);
    /** Done with memory that has been read: a transfer to a worker, or a use for other bytes. */
    this.afterwards = world.pick(['nothing', 'nothing', connection.automatic ? 'nothing' : 'transfer', 'overwrite']);
    // The contract of `recycle`: written bytes are no longer read once `writableLength` is 0.
    this.counts = connection.recycle || chance(2);
    this.corked = 0;
    if (chance(2)) this.cork = this.uncork = undefined;
  }

  cork() {
    this.corked++;
  }

  uncork() {
    this.corked--;
    if (!this.late) this.connection.read();
  }

  get writableLength() {
    if (!this.counts) return this.late ? undefined : 0;
    return this.connection.waiting.reduce((sum, { length }) => sum + length, 0);
  }

  write(chunk) {
    const { world, connection } = this;
    world.count('writes');
    if (this.throws && world.chance(4)) {
      connection.lost = true;
      throw world.error;
    }
    connection.give(chunk, false);
    const act = () => this.acts && world.depth < MAX_DEPTH && world.chance(2) && world.act(connection);
    // Counted here, too, since encoders flush by themselves.
    connection.flushing++;
    try {
      act();
      if (!this.late && this.corked === 0) connection.read();
      act();
    } finally {
      connection.flushing--;
    }
    return world.chance(2);
  }
}

/** An encoder, the frames that were encoded on it, and the bytes that have come out of it. */
class Connection {
  /** @type {{ firstByte: number, payload: Buffer }[]} */
  expected = [];
  expectedBytes = 0;
  closed = false;
  fragmented = false;
  /** Whether the last message is text. */
  textual = false;
  /** A first half of a surrogate pair that ended the last fragment. The next one begins with it. */
  half = '';
  /** Whether bytes are missing, because a sink threw or transferred memory. */
  lost = false;
  /** How many calls of `flush` are at work. */
  flushing = 0;
  /** @type {{ chunk: Uint8Array, length: number }[]} given to the sink or taken, and unread */
  waiting = [];
  givenBytes = 0;
  wire = [];

  constructor(world, number) {
    const { chance, pick } = world;
    this.world = world;
    this.name = `connection ${number}`;
    this.role = pick(['server', 'client']);
    this.recycle = chance(2);
    this.automatic = chance(4);
    this.sink = new Sink(world, this);
    const options = { role: this.role, recycle: this.recycle, trace: { id: this.name } };
    if (this.automatic) options.writable = this.sink;
    this.encoder = new (chance(3) ? JavascriptEncoder : Encoder)(options);
  }

  fail(message) {
    const { name, role, recycle, automatic } = this;
    const { late, acts, afterwards, counts } = this.sink;
    const settings = { role, recycle, automatic, late, acts, afterwards, counts };
    throw new Finding(`${message}, on ${name} ${show(settings)}`);
  }

  /** Has a chunk wait, which the encoder has written, or given to `take`. */
  give(chunk, taken) {
    if (chunk.length === 0) this.loseToTransfer(`${taken ? 'take' : 'flush'} gave an empty Buffer`);
    if (taken || !this.recycle) this.world.claim(chunk, this);
    this.waiting.push({ chunk, length: chunk.length });
    this.givenBytes += chunk.length;
  }

  /**
   * A sink that transfers memory may lose other bytes of its own connection: Buffers of one flush
   * share memory, and so do those of later ones. It must not lose those of others.
   */
  loseToTransfer(message) {
    if (this.sink.afterwards !== 'transfer') this.fail(message);
    this.lost = true;
    this.world.count('connections that lost bytes to a transfer of their own');
  }

  /** Reads some of the chunks that wait, all by default. */
  read(most = Infinity) {
    const { afterwards } = this.sink;
    for (let i = 0; i < most && this.waiting.length > 0; i++) {
      const { chunk, length } = this.waiting[0];
      if (chunk.length !== length) this.loseToTransfer(`${length} bytes that wait to be sent were detached`);
      this.wire.push(Buffer.from(chunk));
      this.waiting.shift();
      if (afterwards === 'overwrite') chunk.fill(0xee);
      else if (afterwards === 'transfer' && chunk.length > 0)
        structuredClone(chunk.buffer, { transfer: [chunk.buffer] });
    }
  }

  /** Adds a frame. It is expected before the call, because subscribers may add frames during it. */
  frame(firstByte, payload, add) {
    const opcode = firstByte & 15;
    const invalid = !this.closed && opcode < 8 && this.fragmented !== (opcode === 0);
    if (!this.closed && !invalid) {
      const { length } = payload;
      this.expected.push({ firstByte, payload });
      this.expectedBytes += (length < 126 ? 2 : length < 65536 ? 4 : 10) + (this.role === 'client' ? 4 : 0) + length;
      if (opcode === 1 || opcode === 2) this.textual = opcode === 1;
      if (opcode < 8) this.fragmented = firstByte < 128;
      this.closed = opcode === 8;
    }
    try {
      add();
    } catch (error) {
      if (invalid && error.code === 'ERR_INVALID_STATE') return;
      if (this.sink.afterwards !== 'transfer') throw error;
      this.loseToTransfer(error.message);
      return;
    }
    // An encoder that has lost bytes may have begun no message.
    if (invalid && !this.lost) this.fail(`a frame ${firstByte} was added`);
  }

  data() {
    const { world, encoder } = this;
    const { chance } = world;
    const continues = this.fragmented ? !chance(12) : chance(40);
    const fin = !chance(4);
    const rsv1 = !continues && chance(6);
    const asText = continues ? this.textual : !chance(3);
    const data = asText ? world.text() : world.bytes();
    // Before bytes a half is a frame of its own, around which subscribers may add others.
    const given = asText && this.half === '' && chance(4) ? ofItsOwn(data) : data;
    const isBytes = typeof given !== 'string';
    const options = fin && !rsv1 && chance(2) ? undefined : { fin, rsv1 };
    const owned = isBytes && chance(3);
    if (options !== undefined && owned) options.owned = true;
    const isFragment = continues || options !== undefined;
    const isAdded = !this.closed && this.fragmented === continues;
    const payload = !isBytes && isFragment && isAdded ? this.carry(given, fin) : Buffer.from(given);
    const method = continues ? 'continuation' : asText ? 'text' : 'binary';
    const opcode = ['continuation', 'text', 'binary'].indexOf(method);
    const dressed = isBytes && method !== 'text' ? world.dress(given) : given;
    const firstByte = (fin ? 0x80 : 0) | (rsv1 ? 0x40 : 0) | opcode;
    this.frame(firstByte, payload, () => encoder[method](dressed, options));
    world.count('data frames');
    // In a round without actors nobody but the encoder can have changed the caller's data.
    if (isBytes && !owned && world.quiet && !payload.equals(given)) this.fail('the data was changed');
  }

  /** The payload of a fragment of text: the half before it comes first, its own last half stays. */
  carry(text, fin) {
    const whole = this.half + text;
    const end = !fin && /[\ud800-\udbff]$/.test(whole) ? whole.length - 1 : whole.length;
    this.half = whole.slice(end);
    return Buffer.from(whole.slice(0, end));
  }

  control() {
    const { world, encoder } = this;
    const payload = world.bytes(world.random(126));
    const copy = Buffer.from(payload);
    if (world.chance(2)) this.frame(0x89, copy, () => encoder.ping(payload));
    else this.frame(0x8a, copy, () => encoder.pong(payload));
    if (!payload.equals(copy)) this.fail('the data was changed');
    world.count('control frames');
  }

  close() {
    const { world, encoder } = this;
    const code = world.chance(3) ? undefined : 1000 + world.random(3);
    const reason = code === undefined ? '' : ASCII.substr(world.random(1000), world.random(124));
    const payload = code === undefined ? Buffer.alloc(0) : closePayload(code, reason);
    this.frame(0x88, payload, () => encoder.close(code, reason));
  }

  prepared() {
    const { world, encoder } = this;
    if (this.role === 'client') return;
    // A sink that transfers or overwrites is given the memory of a prepared message, so it gets a
    // message of its own.
    const shared = this.sink.afterwards === 'nothing';
    const made = shared ? world.pick(world.prepared) : world.prepare();
    this.frame(made.firstByte, made.payload, () => encoder.addPrepared(made.message));
    world.count('prepared messages');
  }

  /** Whether all expected bytes have come out or are pending: not while frames are under way. */
  checkPending() {
    if (this.lost || this.flushing > 0 || this.world.depth > 0) return;
    const pending = this.expectedBytes - this.givenBytes;
    if (this.encoder.pending !== pending) this.fail(`pending is ${this.encoder.pending}, not ${pending}`);
  }

  flush() {
    const { world, encoder, sink } = this;
    this.checkPending();
    this.flushing++;
    try {
      encoder.flush(this.automatic ? undefined : sink);
    } catch (error) {
      // The sink may be another connection's: one that was flushed while this one was.
      if (error === world.error && world.connections.some(({ lost }) => lost)) this.lost = true;
      else if (sink.afterwards === 'transfer' && !(error instanceof Finding)) this.loseToTransfer(error.message);
      else throw error;
    } finally {
      this.flushing--;
    }
    this.checkPending();
    world.count('flushes');
  }

  take() {
    // During a flush, what is taken would come after Buffers that are still to be written.
    if (this.flushing > 0) return;
    this.checkPending();
    let chunks = [];
    try {
      chunks = this.encoder.take();
    } catch (error) {
      this.loseToTransfer(error.message);
    }
    for (const chunk of chunks) this.give(chunk, true);
    if (!this.sink.late) this.read();
    this.checkPending();
    this.world.count('takes');
  }

  /** Compares what was sent with what was encoded, once all is flushed and read. */
  check() {
    if (this.lost) return;
    if (this.encoder.closed !== this.closed) this.fail(`closed is ${this.encoder.closed}`);
    const wire = Buffer.concat(this.wire);
    const reference = new ReferenceDecoder({ role: this.role === 'server' ? 'client' : 'server', rsv1: true });
    reference.write(wire);
    const { frames, error } = reference;
    const isSame = ({ firstByte, payload }, i) =>
      frames[i]?.firstByte === firstByte && frames[i].payload.equals(payload);
    const wrong = this.expected.findIndex((frame, i) => !isSame(frame, i));
    if (wrong !== -1) {
      const describe = (frame) => frame && `${frame.firstByte} with ${frame.payload.length} bytes`;
      const which = `frame ${wrong} of ${this.expected.length}`;
      this.fail(
        `${which} is ${describe(frames[wrong])}, not ${describe(this.expected[wrong])}, or with other bytes ${error}`
      );
    }
    if (error !== '' || frames.length !== this.expected.length) {
      this.fail(`after ${this.expected.length} frames came more: ${error}`);
    }
    if (this.expectedBytes !== wire.length) this.fail(`${wire.length} bytes, not ${this.expectedBytes}`);
  }
}

/** The connections of a round. */
class World {
  constructor(random, count) {
    this.random = random;
    this.count = count;
    this.chance = (oneIn) => random(oneIn) === 0;
    this.pick = (values) => values[random(values.length)];
    /** Thrown by sinks. */
    this.error = new Error('a sink throws');
    /** How many sinks and subscribers that act are at work. */
    this.depth = 0;
    this.owners = new WeakMap();
    this.prepared = [this.prepare(), this.prepare(), this.prepare()];
    this.connections = Array.from({ length: 1 + random(6) }, (_, i) => new Connection(this, i));
    this.subscriber = this.chance(3) ? (record) => this.onRecord(record) : null;
    this.quiet = this.subscriber === null && this.connections.every(({ sink, automatic }) => !sink.acts && !automatic);
  }

  length() {
    const kind = this.random(20);
    if (kind < 12) return this.random(200);
    if (kind < 18) return this.random(kind < 16 ? 700 : 3000);
    if (kind === 19 && this.chance(6)) return this.random(70_000);
    return Math.max(0, this.pick(EDGES) + this.random(5) - 2);
  }

  bytes(length = this.length()) {
    const start = this.random(BYTES.length - length);
    // From 16 KiB on a server sends it from where it lies, and a sink may transfer or overwrite it.
    return ofItsOwn(BYTES.subarray(start, start + length));
  }

  text() {
    const [source, length] = this.chance(3) ? [WIDE, Math.min(this.length(), 24_000)] : [ASCII, this.length()];
    const start = this.random(source.length - length);
    return source.slice(start, start + length);
  }

  /** The same bytes as another kind of object, or not. */
  dress(bytes) {
    const { buffer, byteOffset, length } = bytes;
    if (this.chance(2)) return bytes;
    return this.chance(2) ? new DataView(buffer, byteOffset, length) : new Uint8Array(buffer, byteOffset, length);
  }

  prepare() {
    const data = this.chance(2) ? this.text() : this.bytes();
    const rsv1 = this.chance(4);
    const firstByte = 0x80 | (rsv1 ? 0x40 : 0) | (typeof data === 'string' ? 1 : 2);
    return { firstByte, payload: Buffer.from(data), message: prepare(data, { rsv1 }) };
  }

  /** Notes the owner of memory that an encoder has handed out for good. */
  claim(chunk, connection) {
    const owner = this.owners.get(chunk.buffer) ?? connection;
    this.owners.set(chunk.buffer, owner);
    // Only prepared messages belong to many.
    if (owner === connection || this.prepared.some(({ message }) => message.frame.equals(chunk))) return;
    connection.fail(`memory of ${owner.name} was handed out, ${chunk.length} of ${chunk.buffer.byteLength} bytes`);
  }

  /**
   * A sink or a subscriber acts: mostly on its own connection, which is in the middle of something.
   */
  act(connection) {
    this.depth++;
    try {
      for (let steps = 1 + this.random(4); steps > 0; steps--) {
        this.step(this.chance(3) ? this.pick(this.connections) : connection);
      }
    } finally {
      this.depth--;
    }
  }

  step(connection) {
    const kind = this.random(24);
    if (kind < 12) connection.data();
    else if (kind < 15) connection.control();
    else if (kind < 16 && this.chance(6)) connection.close();
    else if (kind < 18) connection.prepared();
    else if (kind < 20) connection.flush();
    else if (kind < 22) connection.take();
    // A sink reads what it was given before, but a sink that is reading is not entered again.
    else if (connection.sink.late) connection.read(1 + this.random(3));
  }

  /** Compares a record with the frame that was encoded; then it acts. */
  onRecord(record) {
    const connection = this.connections.find(({ name }) => name === record.connection);
    // Another codec's, or frames are missing.
    if (connection === undefined || connection.lost) return;
    this.count('records');
    try {
      const { firstByte, payload } = connection.expected[record.sequence - 1] ?? {};
      const wrong =
        record.opcode !== undefined
          ? record.opcode !== (firstByte & 15) || record.length !== payload.length || record.fin !== firstByte > 127
          : (firstByte & 0x88) !== 0x80;
      if (wrong) connection.fail(`a record is wrong: ${JSON.stringify(record)}`);
      if (this.depth < MAX_DEPTH && this.chance(4)) this.act(connection);
    } catch (error) {
      // node:diagnostics_channel would throw it in the next tick.
      this.thrown ??= error;
    }
  }

  async run() {
    const { connections, subscriber } = this;
    if (subscriber !== null) for (const records of CHANNELS) records.subscribe(subscriber);
    try {
      for (let steps = 5 + this.random(40); steps > 0; steps--) {
        this.step(this.pick(connections));
        if (this.chance(5)) await this.tick();
        if (this.thrown) throw this.thrown;
      }
      await this.tick();
      // Sinks that act add more frames, but not for ever.
      for (const { sink } of connections) sink.acts = false;
      for (let again = 2; again > 0; again--) {
        for (const connection of connections) connection.flush();
        await this.tick();
      }
      for (const connection of connections) connection.read();
      for (const connection of connections) connection.check();
    } finally {
      if (subscriber !== null) for (const records of CHANNELS) records.unsubscribe(subscriber);
    }
  }

  /** Lets the encoders with the option `writable` flush by themselves. */
  async tick() {
    const automatic = this.connections.filter((connection) => connection.automatic);
    // Nobody can catch an error that their sinks throw.
    for (const { sink } of automatic) sink.throws = false;
    if (automatic.length > 0) await new Promise(setImmediate);
    if (this.thrown) throw this.thrown;
  }
}

const PURPOSE = `Encodes on many connections at a time, with sinks and subscribers that act, and compares what comes out of each
connection with what was encoded on it, decoded by fuzz/reference.js.`;

runProgram('encoders.js', PURPOSE, (random, count) => new World(random, count).run());
