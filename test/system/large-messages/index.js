'use strict';

const path = require('node:path');
const { outputOf, startServer } = require('../../support/child');

const ENDPOINT = path.join(__dirname, 'endpoint.js');
const MIB = 2 ** 20;
/** A receiver, or a sender, may take so many bytes more than a bare socket at either end. */
const MARGIN = 32 * MIB;

/** The sender's kind and the receiver's reader, see endpoint.js. */
const CASES = {
  'bare socket': ['frame', 'bare'],
  'one frame': ['frame', 'parts'],
  'one frame, compared': ['frame', 'checked'],
  'fragments of 64 KiB': ['fragments', 'checked'],
  'text, as strings': ['text', 'text'],
  compressed: ['compressed', 'compressed'],
  'Connection, a loop': ['connection-stream', 'loop'],
  'Connection, a loop, compressed': ['connection-compressed', 'loop-compressed'],
  'framemask/ws': ['ws-stream', 'ws-dropped'],
  'framemask/ws, compared': ['ws-stream', 'ws-checked'],
  'framemask/ws, compressed': ['ws-compressed', 'ws-checked']
};

async function transfer(kind, reader, bytes) {
  const { port, lines } = await startServer([process.execPath, ENDPOINT, 'receive', reader]);
  const sending = outputOf([process.execPath, ENDPOINT, 'send', kind, `${bytes}`, `${port}`], { timeout: 3_600_000 });
  const [received, sent] = await Promise.all([lines.next(), sending]);
  if (received.done) throw new Error('the receiver has ended early');
  return { received: JSON.parse(received.value), sent: JSON.parse(sent) };
}

const inMib = (bytes) => `${(bytes / MIB).toFixed(0)} MiB`;

module.exports = {
  summary: 'messages of gigabytes in parts: memory at both ends, and the rate',
  details: `Sends one message over loopback, in one frame and in fragments, as text and compressed, to a Decoder with onPart, and by sendStream
to a loop over a Connection with partsFrom, and to framemask/ws with streamFrom. Each end may take ${inMib(MARGIN)} more than one that reads and drops the same bytes from a bare socket; each byte is compared.`,
  options: { mib: { default: '4096', value: 'n', text: 'the length of the message; the default takes two minutes' } },
  columns: ['receiver', 'sender', 'MiB/s', 'of a bare socket'],

  async run({ mib }, { results }) {
    const bytes = Number(mib) * MIB;
    if (!(Number.isSafeInteger(bytes) && bytes > 0))
      throw new RangeError(`--mib must be a whole number above 0, not ${mib}`);
    let bare;
    for (const [name, [kind, reader]] of Object.entries(CASES)) {
      await results.add(name, async () => {
        const { received, sent } = await transfer(kind, reader, bytes);
        bare ??= { received, sent };
        const faults = [];
        if (reader !== 'bare' && received.bytes !== sent.bytes)
          faults.push(`${received.bytes} bytes of ${sent.bytes} came`);
        if (received.peak > bare.received.peak + MARGIN) faults.push('the receiver took too much memory');
        if (sent.peak > bare.sent.peak + MARGIN) faults.push('the sender took too much memory');
        const rate = (bytes / MIB / received.seconds).toFixed(0);
        const share = (bare.received.seconds / received.seconds).toFixed(2);
        return { cells: [inMib(received.peak), inMib(sent.peak), rate, share], faults };
      });
    }
  }
};
