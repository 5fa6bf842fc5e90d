'use strict';

// Three messages are compressed while malloc refuses; then others, on connections of their own.

const { Decoder, Encoder, acceptDeflate } = require('../../..');

const [where, takeover, times, others] = process.argv.slice(2);
const threadPoolFrom = where === 'pool' ? 2000 : Number.POSITIVE_INFINITY;
const deflate = acceptDeflate('permessage-deflate', { contextTakeover: takeover === 'true', threadPoolFrom });
const TEXT = 'a message to be compressed, with some words in it. '.repeat(60);

/** A connection, and what has come of it. */
class Endpoint {
  constructor() {
    this.right = 0;
    this.wrong = [];
    this.errors = [];
    const onMessage = (data) => (data === TEXT ? this.right++ : this.wrong.push(`${data.length} characters`));
    this._peer = new Decoder({ role: 'client', deflate, onMessage, onError: ({ code }) => this.wrong.push(code) });
    this.encoder = new Encoder({ role: 'server', deflate, onDeflated: () => this._deliver() });
  }

  send() {
    this._try(() => this.encoder.text(TEXT));
    this._deliver();
  }

  _deliver() {
    this._try(() => {
      for (const bytes of this.encoder.take()) this._peer.write(bytes);
    });
  }

  _try(act) {
    try {
      act();
    } catch (error) {
      this.errors.push(error.code ?? error.message);
    }
  }

  /** Until nothing is being compressed. */
  async settle() {
    while (this.encoder.waiting > 0) await new Promise(setImmediate);
    this._deliver();
  }
}

async function main() {
  const first = new Endpoint();
  process.env.REFUSE_MALLOC = times;
  for (let i = 0; i < 3; i++) first.send();
  await first.settle();
  process.env.REFUSE_MALLOC = '0';
  const rest = Array.from({ length: Number(others) }, () => new Endpoint());
  for (const one of rest) one.send();
  for (const one of rest) await one.settle();
  const { right, wrong, errors, encoder } = first;
  const fine = rest.filter((one) => one.right === 1 && one.wrong.length === 0).length;
  const refused = errors.length > 0 || right < 3;
  console.log(JSON.stringify({ refused, errors, right, wrong, pending: encoder.pending, others: fine }));
}

main();
