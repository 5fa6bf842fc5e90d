'use strict';

// Three connections to try the inspector with, made by framemask: a compressed chat with a message
// in fragments, a message that is too big for its receiver, and a bad frame.

const { Encoder, acceptDeflate, offerDeflate } = require('./framemask');
const { makeHandshake } = require('./handshake');

const START = Date.UTC(2026, 0, 5, 9, 30);
const OPTIONS = { contextTakeover: true, threshold: 0, threadPoolFrom: Infinity };

/** Two ends that talk to each other: their bytes, with times. */
class Conversation {
  constructor(port, path, after, isCompressed = false) {
    this._time = START + after;
    this.pieces = [];
    this.names = { client: `192.0.2.7:${port}`, server: '192.0.2.1:8080' };
    const offer = offerDeflate(OPTIONS);
    const accepted = isCompressed ? acceptDeflate(offer.header, OPTIONS) : null;
    const extensions = isCompressed ? { client: offer.header, server: accepted.header } : {};
    const heads = makeHandshake(path, 'chat.example', extensions);
    this._add('client', heads.client);
    this._add('server', heads.server);
    this._ends = {
      client: new Encoder({ role: 'client', deflate: isCompressed ? offer.readAnswer(accepted.header) : null }),
      server: new Encoder({ role: 'server', deflate: accepted })
    };
  }

  _add(from, bytes, after = 3) {
    this._time += after;
    this.pieces.push({ from, bytes, time: this._time });
  }

  /** One end sends the frames that `fill` adds, some milliseconds later. */
  send(from, after, fill) {
    fill(this._ends[from]);
    this._add(from, Buffer.concat(this._ends[from].take()), after);
    return this;
  }

  /** One end sends bytes that no Encoder makes. */
  sendRaw(from, after, hex) {
    this._add(from, Buffer.from(hex, 'hex'), after);
    return this;
  }
}

const text = (value) => (encoder) => encoder.text(JSON.stringify(value));

/** @returns {Conversation[]} */
function createSample() {
  const say = (name, message, id) => {
    return { type: 'message', room: 'lobby', id, user: { name, color: '#1a6847' }, message };
  };
  const upload = { type: 'upload', name: 'novel.txt', text: 'It was a dark and stormy night. '.repeat(2200) };
  const chat = new Conversation(50112, '/chat', 0, true)
    .send('client', 20, text({ type: 'join', room: 'lobby', user: 'Ada' }))
    .send('server', 4, text({ type: 'welcome', room: 'lobby', members: ['Ada', 'Grace', 'Edsger'] }))
    .send('client', 420, text(say('Ada', 'Has anybody seen the new frames?', 1)))
    .send('server', 5, text({ type: 'accepted', id: 1 }))
    .send('server', 310, text(say('Grace', 'Yes: 14 bytes of header, and they still fit in a cache line.', 2)))
    .send('client', 250, (encoder) => encoder.ping('are you there?'))
    .send('server', 2, (encoder) => encoder.pong('are you there?'))
    .send('server', 330, text(say('Edsger', 'Simplicity is a prerequisite for reliability.', 3)))
    .send('client', 150, (encoder) => encoder.binary(Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')))
    .send('server', 6, text({ type: 'accepted', id: 4 }));
  const story = new Conversation(50114, '/story', 300)
    .send('server', 60, (encoder) => encoder.text('Once upon a time, ', { fin: false }))
    .send('server', 200, (encoder) => encoder.continuation('a message was so long ', { fin: false }))
    .send('server', 80, (encoder) => encoder.ping())
    .send('client', 3, (encoder) => encoder.pong())
    .send('server', 160, (encoder) => encoder.continuation('that it came in three frames.'))
    .send('client', 90, text(upload))
    .send('server', 4, (encoder) => encoder.close(1009, 'At most 65536 bytes, please'))
    .send('client', 3, (encoder) => encoder.close(1009));
  const bad = new Conversation(50120, '/legacy', 700)
    .send('client', 30, text({ type: 'hello', version: 1 }))
    .send('server', 3, text({ type: 'hello', version: 2 }))
    // RSV1 is set, though no extension was agreed on.
    .sendRaw('client', 240, 'c18a010203047a2075263b767171647f')
    .sendRaw('client', 40, '8985010203046d63776173')
    .send('server', 1, (encoder) => encoder.close(1002, 'Reserved bits are set'));
  chat
    .send('client', 120, (encoder) => encoder.close(1000, 'Good bye'))
    .send('server', 2, (encoder) => encoder.close(1000));
  return [chat, story, bad];
}

module.exports = { createSample };
