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

/** How each endpoint compresses, as `server 15 takeover, client 12`; null if not agreed. */
function ends(agreement) {
  if (agreement === null) return null;
  const text = ({ windowBits, contextTakeover }) => `${windowBits}${contextTakeover ? ' takeover' : ''}`;
  return `server ${text(agreement._server)}, client ${text(agreement._client)}`;
}

const NO_SERVER = 'permessage-deflate; server_no_context_takeover';
const NO_CLIENT = 'permessage-deflate; client_no_context_takeover';
const LIMIT = { clientWindowBits: 11 };
/** A row about the window of one endpoint, without takeover. */
const bits = (name, offered, answered, agreed, options) => [
  `permessage-deflate; ${name}_max_window_bits${offered}`,
  options,
  answered === '' ? NO_TAKEOVER : `${NO_TAKEOVER}; ${name}_max_window_bits${answered}`,
  agreed
];

for (const [offer, options, header, agreed] of [
  ['permessage-deflate', {}, NO_TAKEOVER, 'server 15, client 15'],
  ['permessage-deflate', TAKEOVER, 'permessage-deflate', 'server 15 takeover, client 15 takeover'],
  // 7.1.1: an endpoint takes no context over if the client wants that.
  [NO_SERVER, TAKEOVER, NO_SERVER, 'server 15, client 15 takeover'],
  [NO_CLIENT, TAKEOVER, NO_CLIENT, 'server 15 takeover, client 15'],
  // 7.1.2.1: the window of the server
  ...[9, 10, 14, 15].map((n) => bits('server', `=${n}`, `=${n}`, `server ${n}, client 15`)),
  bits('server', '=12', '=10', 'server 10, client 15', { serverWindowBits: 10 }),
  ['permessage-deflate', { serverWindowBits: 9 }, `${NO_TAKEOVER}; server_max_window_bits=9`, 'server 9, client 15'],
  bits('server', '=8', '=8', 'server 8, client 15'),
  // 7.1.2.2: the window of the client, which may be limited only if the client permits that
  bits('client', '', '', 'server 15, client 15'),
  bits('client', '=8', '', 'server 15, client 8'),
  bits('client', '=10', '', 'server 15, client 10'),
  bits('client', '', '=11', 'server 15, client 11', LIMIT),
  bits('client', '=9', '=9', 'server 15, client 9', LIMIT),
  ['permessage-deflate', LIMIT, null, null]
]) {
  t.test(`a server with ${JSON.stringify(options ?? {})} answers ${offer}`, async (t) => {
    const agreement = acceptDeflate(offer, options);
    t.equal(agreement?.header ?? null, header);
    t.equal(ends(agreement), agreed);
  });
}

t.test('7.1: a server declines offers that are not valid, and takes the first that is', async (t) => {
  const answer = (header, options) => acceptDeflate(header, options)?.header ?? null;
  const invalid = [
    'unknown',
    '__proto__=1',
    'constructor',
    'server_no_context_takeover=1',
    'server_no_context_takeover="true"',
    'client_no_context_takeover; client_no_context_takeover',
    'server_max_window_bits',
    'server_max_window_bits=10; server_max_window_bits=10',
    ...['7', '16', '010', '10.0', '1e1', '-9', '0x9', '9a', '+9', '1000'].flatMap((n) => [
      `server_max_window_bits=${n}`,
      `client_max_window_bits=${n}`
    ])
  ].map((parameters) => `permessage-deflate; ${parameters}`);
  for (const header of invalid) {
    t.equal(answer(header), null, header);
    t.equal(answer(`${header}, permessage-deflate`), NO_TAKEOVER, `${header}, then a good one`);
  }
  t.equal(
    answer('x-webkit-deflate-frame, permessage-deflate; server_max_window_bits="1\\0", permessage-deflate', TAKEOVER),
    'permessage-deflate; server_max_window_bits=10'
  );
  const others = ['', ';', 'permessage-deflate;', ', ,', 'foo', 'Permessage-Deflate', undefined];
  for (const header of others) t.equal(answer(header), null, `${header}: malformed, or lacks the extension`);
});

const LIMITED = { serverWindowBits: 11, clientWindowBits: 12 };
const BOTH = 'server 15 takeover, client 15 takeover';

for (const [options, offered, answers] of [
  [
    {},
    `${NO_TAKEOVER}; client_max_window_bits`,
    // The client keeps to its offer, whatever the answer says of it.
    { [NO_TAKEOVER]: 'server 15, client 15', [NO_SERVER]: 'server 15, client 15' }
  ],
  [
    TAKEOVER,
    'permessage-deflate; client_max_window_bits',
    {
      'permessage-deflate': BOTH,
      [NO_TAKEOVER]: 'server 15, client 15',
      'permessage-deflate; server_max_window_bits=8; client_max_window_bits=9': 'server 8 takeover, client 9 takeover',
      'permessage-deflate; client_max_window_bits=8': 'server 15 takeover, client 8 takeover',
      'permessage-deflate; client_max_window_bits="12"': 'server 15 takeover, client 12 takeover'
    }
  ],
  [
    { ...TAKEOVER, ...LIMITED },
    'permessage-deflate; server_max_window_bits=11; client_max_window_bits=12',
    // Its own window is the offered one.
    { 'permessage-deflate; server_max_window_bits=10': 'server 10 takeover, client 12 takeover' }
  ]
]) {
  t.test(`7.1: a client with ${JSON.stringify(options)} offers, and keeps to the answer`, async (t) => {
    const offer = offerDeflate(options);
    t.equal(offer.header, offered);
    for (const [answer, agreed] of Object.entries(answers)) t.equal(ends(offer.readAnswer(answer)), agreed, answer);
    t.equal(offer.readAnswer(undefined), null, 'the server has declined');
  });
}

t.test('7.1: a client refuses an answer that is not one to its offer', async () => {
  for (const [options, header, message] of [
    [{}, 'permessage-deflate', /lacks server_no_context_takeover/],
    [{}, '', /malformed/],
    [{}, 'permessage-deflate, permessage-deflate', /not offered/],
    [{}, 'foo', /not offered/],
    [{}, `${NO_SERVER}, foo`, /not offered/],
    [{}, 'permessage-deflate; a', /not valid/],
    [{}, `${NO_SERVER}; client_max_window_bits`, /lacks a value/],
    [LIMITED, NO_SERVER, /server_max_window_bits is larger/],
    [LIMITED, `${NO_SERVER}; server_max_window_bits=12`, /server_max_window_bits is larger/],
    [LIMITED, `${NO_SERVER}; server_max_window_bits=11; client_max_window_bits=13`, /client_max_window_bits is larger/]
  ]) {
    const expected = { name: 'FrameError', code: 'FRAMEMASK_ERR_EXTENSIONS', closeCode: 1002, message };
    assert.throws(() => offerDeflate(options).readAnswer(header), expected, header);
  }
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

/** @returns {object | null} the parameters that ws accepts as one endpoint */
const acceptByWs = (endpoint, header) => endpoint.accept(wsExtension.parse(header)['permessage-deflate']);

t.test(`the parameters that ws agrees on as the other endpoint are the same (seed ${seed})`, async (t) => {
  const random = createRandom(seed);
  const agreements = { framemask: 0, ws: 0 };
  for (let i = 0; i < 20_000; i++) {
    const options = {
      contextTakeover: random(2) === 0,
      serverWindowBits: 9 + random(7),
      clientWindowBits: random(2) === 0 ? 15 : 9 + random(7)
    };
    const header = randomHeader(random);
    // No offer makes a server throw, and ws as the client accepts each answer.
    const agreement = acceptDeflate(header, options);
    if (agreement !== null) {
      const params = acceptByWs(new PerMessageDeflate({}), agreement.header);
      assert.equal(agreement._server.contextTakeover, !params.server_no_context_takeover, header);
      assert.equal(agreement._client.contextTakeover, !params.client_no_context_takeover, header);
      assert.ok(agreement._server.windowBits <= (params.server_max_window_bits ?? 15), header);
      assert.ok(agreement._client.windowBits >= (params.client_max_window_bits ?? 8), header);
      agreements.framemask++;
    }
    // framemask offers, ws answers.
    const offer = offerDeflate(options);
    const clientMaxWindowBits = random(2) === 0 ? 9 + random(7) : undefined;
    let accepted;
    try {
      accepted = acceptByWs(new PerMessageDeflate({ isServer: true, clientMaxWindowBits }), offer.header);
    } catch {
      continue;
    }
    const mine = offer.readAnswer(wsExtension.format({ 'permessage-deflate': [accepted] }));
    assert.equal(mine._server.contextTakeover, !accepted.server_no_context_takeover);
    assert.equal(mine._server.windowBits, accepted.server_max_window_bits ?? 15);
    assert.ok(mine._client.windowBits <= (accepted.client_max_window_bits ?? 15));
    agreements.ws++;
  }
  t.ok(agreements.framemask > 1000 && agreements.ws > 1000, JSON.stringify(agreements));
});

t.test('refuses options and headers that are not acceptable', async (t) => {
  for (const make of [offerDeflate, (options) => acceptDeflate('permessage-deflate', options)]) {
    for (const [options, name, message] of [
      [null, 'TypeError', /"options"/],
      [{ contextTakeover: 1 }, 'TypeError', /"options.contextTakeover" argument must be a boolean/],
      [{ serverWindowBits: 8 }, 'RangeError', /from 9 to 15/],
      [{ clientWindowBits: 16 }, 'RangeError', /from 9 to 15/],
      [{ level: '6' }, 'TypeError', /"options.level" argument must be a number/],
      [{ level: 10 }, 'RangeError', /from -1 to 9/],
      [{ memLevel: 0 }, 'RangeError', /from 1 to 9/],
      [{ threshold: -1 }, 'RangeError', /from 0 on, or Infinity/],
      [{ threshold: 1.5 }, 'RangeError', /from 0 on, or Infinity/],
      [{ threadPoolFrom: Number.NaN }, 'RangeError', /from 0 on, or Infinity/],
      [
        { contextTakover: true },
        'TypeError',
        /option "contextTakover" of permessage-deflate. Did you mean "contextTakeover"/
      ]
    ]) {
      assert.throws(() => make(options), { name, message });
    }
  }
  t.ok(offerDeflate({ concurrencyLimit: 1 }), 'other names are ignored');
  for (const header of [null, 1, ['permessage-deflate']]) {
    assert.throws(() => acceptDeflate(header), { name: 'TypeError', message: /"header"/ });
    assert.throws(() => offerDeflate().readAnswer(header), { name: 'TypeError', message: /"header"/ });
  }
});

t.test('an agreement shows its header, and nothing else passes for one', async (t) => {
  const agreement = acceptDeflate('permessage-deflate');
  t.equal(inspect(agreement), `NegotiatedDeflate {\n  header: '${NO_TAKEOVER}'\n}`);
  t.equal(NegotiatedDeflate.isAgreement(agreement), true);
  for (const value of [null, 1, {}, Object.create(agreement)]) t.equal(NegotiatedDeflate.isAgreement(value), false);
  assert.throws(() => {
    agreement.header = 'x';
  }, TypeError);
});

t.test('where zlib has no handles that work, contexts are not taken over', async (t) => {
  for (const [options, handles, expected] of [
    [TAKEOVER, false, false],
    [TAKEOVER, true, true],
    [{}, true, false]
  ]) {
    t.equal(new DeflateSettings(options, handles).contextTakeover, expected);
  }
});

t.test('an agreement of a module that was loaded anew, as jest does, is accepted; nothing else is', async (t) => {
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
  const error = { code: 'ERR_INVALID_ARG_TYPE', message: /"options.deflate"/ };
  const impostor = { constructor: { isAgreement: true } };
  for (const deflate of [true, {}, Object.create(null), impostor, 'permessage-deflate', offerDeflate()]) {
    for (const Class of [Decoder, Encoder]) t.throws(() => new Class({ role: 'server', deflate }), error);
  }
});
