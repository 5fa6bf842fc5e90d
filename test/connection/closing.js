'use strict';

// The closing handshake (RFC 6455 sections 5.5.1, 7.1 and 7.2), as a table: no socket is needed.

const t = require('tap');
const { Closing, END, SEND_CLOSE, answerTo } = require('../../lib/connection/closing');

const EVENTS = {
  'the program closes': (closing) => closing.close(),
  "the peer's Close frame": (closing) => closing.receiveClose(4000, 'bye'),
  'a rule is broken': (closing) => closing.fail(),
  'the peer ends its half': (closing) => closing.endByPeer(),
  'the transport is lost': (closing) => closing.lose() ?? 0,
  'the connection is dropped': (closing) => closing.terminate() ?? 0,
  'the transport is closed': (closing) => closing.finish() ?? 0
};
const [CLOSE, RECEIVE, FAIL, PEER_ENDS, LOSE, DROP, GONE] = Object.keys(EVENTS);

/**
 * The events that lead to each state, what it allows, and the code that the program hears if all
 * ends there.
 */
const STATES = {
  open: { by: [], readyState: 1, maySend: true, mayRead: true, code: 1006 },
  'closing by us': { by: [CLOSE], readyState: 2, maySend: false, mayRead: true, code: 1006 },
  'closing by the peer': { by: [RECEIVE], readyState: 2, maySend: false, mayRead: false, code: 4000 },
  'both Close frames': { by: [CLOSE, RECEIVE], readyState: 2, maySend: false, mayRead: false, code: 4000 },
  failed: { by: [FAIL], readyState: 2, maySend: false, mayRead: false, code: 1006 },
  'half-open': { by: [PEER_ENDS], readyState: 2, maySend: false, mayRead: false, code: 1006 },
  'lost, with bytes left': { by: [LOSE], readyState: 2, maySend: false, mayRead: true, code: 1006 },
  dropped: { by: [DROP], readyState: 2, maySend: false, mayRead: false, code: 1006 },
  closed: { by: [GONE], readyState: 3, maySend: false, mayRead: false, code: 1006 }
};

/** The steps of each event in each state, for a server and a client; 0 where it is left out. */
const STEPS = {
  open: {
    // 7.1.2 "an endpoint MUST send a Close control frame".
    [CLOSE]: [SEND_CLOSE, SEND_CLOSE],
    // 5.5.1 "the endpoint MUST send a Close frame in response"; 7.1.1 "the server MUST close ...
    // immediately".
    [RECEIVE]: [SEND_CLOSE | END, SEND_CLOSE],
    // 7.1.7 "SHOULD send a Close frame with an appropriate status code before proceeding to" close.
    [FAIL]: [SEND_CLOSE | END, SEND_CLOSE | END],
    // 7.1.7 "MAY omit sending a Close frame".
    [PEER_ENDS]: [END, END]
  },
  'closing by us': {
    [RECEIVE]: [END, 0],
    // 5.5.1 "MUST NOT send any more data frames", nor a second Close frame.
    [FAIL]: [END, END],
    [PEER_ENDS]: [END, END]
  },
  // 7.2.1 nothing more can be sent; the peer's Close frame may be among the bytes that are left.
  'lost, with bytes left': { [RECEIVE]: [END, 0], [FAIL]: [END, END], [PEER_ENDS]: [END, END] },
  // 7.1.1 a client waits for the server, and then ends its half.
  'closing by the peer': { [PEER_ENDS]: [0, END] },
  'both Close frames': { [PEER_ENDS]: [0, END] },
  failed: {},
  'half-open': {},
  dropped: {},
  closed: {}
};

for (const [i, role] of ['server', 'client'].entries()) {
  for (const [state, { by, ...expected }] of Object.entries(STATES)) {
    t.test(`${role}: ${state}`, async (t) => {
      const reach = () => {
        const closing = new Closing(role);
        for (const event of by) EVENTS[event](closing);
        return closing;
      };
      const { readyState, maySend, mayRead, isOver, code, reason } = reach();
      t.same({ readyState, maySend, mayRead, code }, expected);
      t.equal(isOver, readyState === 3);
      t.equal(reason, code === 4000 ? 'bye' : '');
      for (const event of Object.keys(EVENTS)) {
        const closing = reach();
        t.equal(EVENTS[event](closing), STEPS[state][event]?.[i] ?? 0, event);
      }
    });
  }

  t.test(
    `${role}: after each row of four events no step is taken twice, and the first Close frame counts`,
    async (t) => {
      const wrong = [];
      const names = Object.keys(EVENTS);
      for (let row = 0; row < names.length ** 4; row++) {
        const closing = new Closing(role);
        const events = [0, 1, 2, 3].map((place) => names[Math.floor(row / names.length ** place) % names.length]);
        const done = [];
        let latest = 1;
        for (const event of events) {
          const steps = EVENTS[event](closing);
          for (const step of [SEND_CLOSE, END]) if (steps & step) done.push(step);
          if (closing.readyState < latest) wrong.push(`${events}: opens again`);
          latest = closing.readyState;
        }
        if (new Set(done).size !== done.length) wrong.push(`${events}: ${done}`);
        const ends = events.findIndex((event) => event !== CLOSE && event !== LOSE);
        if (closing.code !== (events[ends] === RECEIVE ? 4000 : 1006)) wrong.push(`${events}: ${closing.code}`);
      }
      t.same(wrong, []);
    }
  );
}

t.test('5.5.1: an answer has the code that came, and none if none came', async (t) => {
  t.equal(answerTo(4000), 4000);
  t.equal(answerTo(1005), undefined);
});
