'use strict';

const assert = require('node:assert/strict');
const t = require('tap');
const { inspect } = require('node:util');
const { PerMessageDeflate, extension: wsExtension } = require('ws');
const { Decoder, Encoder } = require('../../index');
const { NegotiatedDeflate, DeflateSettings } = require('../../lib/deflate/agreement');
const { acceptDeflate, offerDeflate } = require('../../lib/deflate/negotiation');
const { createRandom, seed } = require('../support/random');

const NO_TAKEOVER = 'permessage-deflate; server_no_context_takeover; client_no_context_takeover';
const TAKEOVER = { contextTakeover: true };

/** The header that a server answers an offer with; null if it declines. */
const answer = (header, options) => acceptDeflate(header, options)?.header ?? null;

/** What each end does, as `server 15 takeover, client 12`. */
function ends({ _server, _client }) {
  const text = ({ windowBits, contextTakeover }) => `${windowBits}${contextTakeover ? ' takeover' : ''}`;
  return `server ${text(_server)}, client ${text(_client)}`;
}

t.test('7.1.1: a server answers that neither end takes its context over, unless told otherwise', (t) => {
  t.equal(answer('permessage-deflate'), NO_TAKEOVER);
  t.equal(answer('permessage-deflate; client_max_window_bits'), NO_TAKEOVER);
  t.equal(answer('permessage-deflate', TAKEOVER), 'permessage-deflate');
  t.equal(ends(acceptDeflate('permessage-deflate')), 'server 15, client 15');
  t.equal(ends(acceptDeflate('permessage-deflate', TAKEOVER)), 'server 15 takeover, client 15 takeover');
  t.end();
});

t.test('7.1.1: a server confirms that an end takes no context over, if the client wants that', (t) => {
  const one = 'permessage-deflate; server_no_context_takeover';
  t.equal(answer(one, TAKEOVER), one);
  t.equal(ends(acceptDeflate(one, TAKEOVER)), 'server 15, client 15 takeover');
  const other = 'permessage-deflate; client_no_context_takeover';
  t.equal(answer(other, TAKEOVER), other);
  t.equal(ends(acceptDeflate(other, TAKEOVER)), 'server 15 takeover, client 15');
  t.end();
});

t.test('7.1.2.1: a server keeps to the window that the client wants of it', (t) => {
  for (let bits = 9; bits <= 15; bits++) {
    const header = `permessage-deflate; server_max_window_bits=${bits}`;
    t.equal(answer(header), `${NO_TAKEOVER}; server_max_window_bits=${bits}`);
    t.equal(acceptDeflate(header)._server.windowBits, bits);
  }
  t.equal(answer('permessage-deflate; server_max_window_bits=8'), null, 'zlib has no window of 256 bytes');
  t.equal(
    answer('permessage-deflate; server_max_window_bits=12', { serverWindowBits: 10 }),
    `${NO_TAKEOVER}; server_max_window_bits=10`
  );
  t.equal(answer('permessage-deflate', { serverWindowBits: 9 }), `${NO_TAKEOVER}; server_max_window_bits=9`);
  t.end();
});

t.test('7.1.2.2: a server knows the window of the client, and limits it only if the client permits that', (t) => {
  t.equal(acceptDeflate('permessage-deflate; client_max_window_bits=8')._client.windowBits, 8);
  t.equal(answer('permessage-deflate; client_max_window_bits=10'), NO_TAKEOVER);
  const limit = { clientWindowBits: 11 };
  t.equal(answer('permessage-deflate; client_max_window_bits', limit), `${NO_TAKEOVER}; client_max_window_bits=11`);
  t.equal(answer('permessage-deflate; client_max_window_bits=9', limit), `${NO_TAKEOVER}; client_max_window_bits=9`);
  t.equal(answer('permessage-deflate', limit), null);
  t.end();
});

t.test('7.1: a server declines offers that are not valid, and takes the first that is', (t) => {
  const bad = [
    'permessage-deflate; unknown',
    'permessage-deflate; __proto__=1',
    'permessage-deflate; constructor',
    'permessage-deflate; server_no_context_takeover=1',
    'permessage-deflate; server_no_context_takeover="true"',
    'permessage-deflate; client_no_context_takeover; client_no_context_takeover',
    'permessage-deflate; server_max_window_bits',
    'permessage-deflate; server_max_window_bits=10; server_max_window_bits=10',
    ...['7', '16', '010', '10.0', '1e1', '-9', '0x9', '9a', '+9', '1000'].flatMap((bits) => [
      `permessage-deflate; server_max_window_bits=${bits}`,
      `permessage-deflate; client_max_window_bits=${bits}`
    ])
  ];
  for (const header of bad) t.equal(answer(header), null, header);
  for (const header of bad) t.equal(answer(`${header}, permessage-deflate`), NO_TAKEOVER, `${header}, then a good one`);
  t.equal(
    answer('x-webkit-deflate-frame, permessage-deflate; server_max_window_bits="1\\0", permessage-deflate', TAKEOVER),
    'permessage-deflate; server_max_window_bits=10'
  );
  t.end();
});

t.test('a server declines a header that is malformed, lacks the extension, or is not there', (t) => {
  for (const header of [
    undefined,
    '',
    ';',
    'permessage-deflate;',
    'permessage-deflate, ,',
    'foo',
    'Permessage-Deflate'
  ]) {
    t.equal(acceptDeflate(header), null, String(header));
  }
  t.end();
});

t.test('7.1: a client offers that neither end takes its context over, unless told otherwise', (t) => {
  t.equal(offerDeflate().header, `${NO_TAKEOVER}; client_max_window_bits`);
  t.equal(offerDeflate(TAKEOVER).header, 'permessage-deflate; client_max_window_bits');
  t.equal(
    offerDeflate({ ...TAKEOVER, serverWindowBits: 9, clientWindowBits: 10 }).header,
    'permessage-deflate; server_max_window_bits=9; client_max_window_bits=10'
  );
  t.end();
});

t.test('7.1: a client keeps to the answer', (t) => {
  const offer = offerDeflate(TAKEOVER);
  const agreed = (header) => ends(offer.readAnswer(header));
  t.equal(agreed('permessage-deflate'), 'server 15 takeover, client 15 takeover');
  t.equal(agreed(NO_TAKEOVER), 'server 15, client 15');
  t.equal(
    agreed('permessage-deflate; server_max_window_bits=8; client_max_window_bits=9'),
    'server 8 takeover, client 9 takeover'
  );
  t.equal(agreed('permessage-deflate; client_max_window_bits="12"'), 'server 15 takeover, client 12 takeover');
  const limited = offerDeflate({ ...TAKEOVER, clientWindowBits: 10, serverWindowBits: 12 });
  t.equal(
    ends(limited.readAnswer('permessage-deflate; server_max_window_bits=11')),
    'server 11 takeover, client 10 takeover',
    'its own window is what it has offered'
  );
  t.equal(offer.readAnswer(undefined), null, 'the server has declined');
  t.end();
});

t.test('7.1: a client refuses an answer that is not one to its offer', (t) => {
  const limited = offerDeflate({ serverWindowBits: 11, clientWindowBits: 12 });
  const none = '; server_no_context_takeover';
  for (const [offer, header, why] of [
    [offerDeflate(), 'permessage-deflate', /lacks server_no_context_takeover/],
    [offerDeflate(), '', /malformed/],
    [offerDeflate(), 'permessage-deflate, permessage-deflate', /not offered/],
    [offerDeflate(), 'foo', /not offered/],
    [offerDeflate(), `permessage-deflate${none}, foo`, /not offered/],
    [offerDeflate(), 'permessage-deflate; a', /not valid/],
    [offerDeflate(), `permessage-deflate${none}; client_max_window_bits`, /has no value/],
    [offerDeflate(), `permessage-deflate${none}; client_max_window_bits=8`, /zlib cannot/],
    [limited, `permessage-deflate${none}`, /server_max_window_bits is larger/],
    [limited, `permessage-deflate${none}; server_max_window_bits=12`, /server_max_window_bits is larger/],
    [
      limited,
      `permessage-deflate${none}; server_max_window_bits=11; client_max_window_bits=13`,
      /client_max_window_bits is larger/
    ]
  ]) {
    const expected = { name: 'FrameError', code: 'FRAMEMASK_ERR_EXTENSIONS', closeCode: 1002, message: why };
    assert.throws(() => offer.readAnswer(header), expected, header);
  }
  t.end();
});

/** An offer or answer with any parameters, good and bad. */
function randomHeader(random) {
  let header = 'permessage-deflate';
  const flags = ['server_no_context_takeover', 'client_no_context_takeover'];
  const numbers = ['server_max_window_bits', 'client_max_window_bits'];
  for (let n = random(5); n > 0; n--) {
    const name = [...flags, ...numbers, 'other'][random(12) % 5];
    header += `; ${name}`;
    if (random(numbers.includes(name) ? 5 : 20) > (numbers.includes(name) ? 0 : 18)) header += `=${7 + random(10)}`;
  }
  return random(4) === 0 ? `${header}, ${randomHeader(random)}` : header;
}

t.test(`the parameters that ws agrees on as the other end are the same (seed ${seed})`, (t) => {
  const random = createRandom(seed);
  let agreements = 0;
  for (let i = 0; i < 5000; i++) {
    // ws offers, framemask answers.
    const client = new PerMessageDeflate({
      serverNoContextTakeover: random(2) === 0,
      clientNoContextTakeover: random(2) === 0 || undefined,
      serverMaxWindowBits: random(2) === 0 ? undefined : 8 + random(8),
      clientMaxWindowBits: [undefined, false, true, 9 + random(7)][random(4)]
    });
    const options = {
      contextTakeover: random(2) === 0,
      serverWindowBits: 9 + random(7),
      clientWindowBits: random(2) === 0 ? 15 : 9 + random(7)
    };
    const offered = wsExtension.format({ 'permessage-deflate': client.offer() });
    const agreement = acceptDeflate(offered, options);
    if (agreement !== null) {
      const params = client.accept(wsExtension.parse(agreement.header)['permessage-deflate']);
      assert.equal(agreement._server.contextTakeover, !params.server_no_context_takeover, offered);
      assert.equal(agreement._client.contextTakeover, !params.client_no_context_takeover, offered);
      assert.ok(agreement._server.windowBits <= (params.server_max_window_bits ?? 15), offered);
      assert.ok(agreement._client.windowBits >= (params.client_max_window_bits ?? 8), offered);
      agreements++;
    }
    // framemask offers, ws answers.
    const offer = offerDeflate(options);
    const server = new PerMessageDeflate({
      isServer: true,
      clientMaxWindowBits: random(2) === 0 ? 9 + random(7) : undefined
    });
    let accepted;
    try {
      accepted = server.accept(wsExtension.parse(offer.header)['permessage-deflate']);
    } catch {
      continue;
    }
    const mine = offer.readAnswer(wsExtension.format({ 'permessage-deflate': [accepted] }));
    assert.equal(mine._server.contextTakeover, !accepted.server_no_context_takeover);
    assert.equal(mine._server.windowBits, accepted.server_max_window_bits ?? 15);
    assert.ok(mine._client.windowBits <= (accepted.client_max_window_bits ?? 15));
    agreements++;
  }
  t.ok(agreements > 1000, `${agreements} agreements`);
  t.end();
});

t.test(
  `no offer makes a server throw, and ws as the client accepts every answer to a valid one (seed ${seed})`,
  (t) => {
    const random = createRandom(seed);
    for (let i = 0; i < 20_000; i++) {
      const header = randomHeader(random);
      const agreement = acceptDeflate(header, { contextTakeover: random(2) === 0, serverWindowBits: 9 + random(7) });
      if (agreement === null) continue;
      new PerMessageDeflate({}).accept(wsExtension.parse(agreement.header)['permessage-deflate']);
    }
    t.end();
  }
);

t.test('refuses options and headers that are not acceptable', (t) => {
  for (const make of [offerDeflate, (options) => acceptDeflate('permessage-deflate', options)]) {
    for (const [options, name, message] of [
      [null, 'TypeError', /"options"/],
      [{ contextTakeover: 1 }, 'TypeError', /"options.contextTakeover" argument must be a boolean/],
      [{ serverWindowBits: 8 }, 'RangeError', /from 9 to 15/],
      [{ clientWindowBits: 16 }, 'RangeError', /from 9 to 15/],
      [{ level: '6' }, 'TypeError', /"options.level" argument must be a number/],
      [{ level: 10 }, 'RangeError', /from -1 to 9/],
      [{ memLevel: 0 }, 'RangeError', /from 1 to 9/],
      [{ threshold: -1 }, 'RangeError', /from 0 to Infinity/],
      [{ threshold: 1.5 }, 'RangeError', /from 0 to Infinity/],
      [{ threadPoolFrom: Number.NaN }, 'RangeError', /from 0 to Infinity/]
    ]) {
      assert.throws(() => make(options), { name, message });
    }
  }
  for (const header of [null, 1, ['permessage-deflate']]) {
    assert.throws(() => acceptDeflate(header), { name: 'TypeError', message: /"header"/ });
    assert.throws(() => offerDeflate().readAnswer(header), { name: 'TypeError', message: /"header"/ });
  }
  t.end();
});

t.test('an agreement shows its header, and nothing else passes for one', (t) => {
  const agreement = acceptDeflate('permessage-deflate');
  t.equal(inspect(agreement), `NegotiatedDeflate {\n  header: '${NO_TAKEOVER}'\n}`);
  t.equal(NegotiatedDeflate.isAgreement(agreement), true);
  for (const value of [null, 1, {}, Object.create(agreement)]) t.equal(NegotiatedDeflate.isAgreement(value), false);
  assert.throws(() => {
    agreement.header = 'x';
  }, TypeError);
  t.end();
});

t.test('where zlib has no handles that work, contexts are not taken over', (t) => {
  t.equal(new DeflateSettings(TAKEOVER, false).contextTakeover, false);
  t.equal(new DeflateSettings(TAKEOVER, true).contextTakeover, true);
  t.equal(new DeflateSettings({}, true).contextTakeover, false);
  t.end();
});

t.test('refuses a name that is almost an option', (t) => {
  const error = {
    code: 'ERR_INVALID_ARG_VALUE',
    message: 'permessage-deflate has no option "contextTakover". Did you mean "contextTakeover"?'
  };
  t.throws(() => acceptDeflate('permessage-deflate', { contextTakover: true }), error);
  t.throws(() => offerDeflate({ contextTakover: true }), error);
  t.ok(offerDeflate({ concurrencyLimit: 1 }), 'other names are ignored');
  t.end();
});

t.test('an agreement of a module that was loaded anew, as jest does, is accepted; nothing else is', (t) => {
  const kept = { ...require.cache };
  for (const file of Object.keys(require.cache)) if (/[/\\]lib[/\\]deflate[/\\]/.test(file)) delete require.cache[file];
  const anew = require('../../lib/deflate/negotiation');
  Object.assign(require.cache, kept);
  t.not(anew.acceptDeflate, acceptDeflate);
  for (const accept of [acceptDeflate, anew.acceptDeflate]) {
    const deflate = accept('permessage-deflate');
    t.equal(new Decoder({ role: 'server', deflate }).closed, false);
    const encoder = new Encoder({ role: 'server', deflate });
    encoder.text('x'.repeat(2000));
    t.ok(encoder.pending < 100);
  }
  for (const deflate of [true, {}, Object.create(null), { constructor: { isAgreement: true } }, 'permessage-deflate']) {
    t.throws(() => new Decoder({ role: 'server', deflate }), {
      code: 'ERR_INVALID_ARG_TYPE',
      message: /"options.deflate"/
    });
  }
  t.end();
});
