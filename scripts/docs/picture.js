'use strict';

// Draws docs/life-of-a-chunk.svg. Which modules there are, and which calls which, is checked against the code.

const { libModules, requiresOf, sources } = require('./modules');

const WIDTH = 1000;
const MARGIN = 14;
const GAP = 22;
const PAD = 10;
const LINE = 17;
const SOCKET = 64;
const PROGRAM = 88;
/** Of a character on average, in the widest of the fonts below. */
const CHARACTER = 7;

/**
 * @typedef {object} Step
 * @property {string} title
 * @property {string[]} modules files of lib/ or src/ that do it
 * @property {string} text
 *
 * @typedef {object} Lane
 * @property {string} title
 * @property {string} folder where most of its modules are
 * @property {'right' | 'left' | null} flow where the arrows between its steps point; null for none
 * @property {Step[]} steps from left to right
 */

/** @type {Lane} */
const RECEIVING = {
  title: 'Receiving: one pass over a chunk',
  folder: 'lib/codec/',
  flow: 'right',
  steps: [
    {
      title: '1  A chunk arrives',
      modules: [
        'lib/sockets/read-into.js',
        'lib/sockets/shared-reads.js',
        'lib/codec/decoder.js',
        'lib/codec/options.js'
      ],
      text: 'write() decodes it at once, or keeps it while the decoder is paused.'
    },
    {
      title: '2  Frames are found',
      modules: ['lib/codec/frame-finder.js', 'lib/codec/frame-table.js', 'lib/codec/header.js'],
      text: 'One call lists up to 256 frames and unmasks them in place. A single frame needs no list.'
    },
    {
      title: '3  Rules, and pieces',
      modules: [
        'lib/codec/delivery.js',
        'lib/codec/message-rules.js',
        'lib/codec/chunk-queue.js',
        'lib/codec/partial-frame.js',
        'lib/codec/partial-message.js',
        'lib/codec/message-memory.js'
      ],
      text: 'RFC 6455 first. What is incomplete waits for the next chunk.'
    },
    {
      title: '4  Text is checked',
      modules: ['lib/codec/utf8.js'],
      text: 'Nothing is left to check if the unmasking found only ASCII.'
    }
  ]
};

/** @type {Lane} */
const MASKING = {
  title: 'Masking: the same function twice, in C++ and in JavaScript',
  folder: 'lib/masking/',
  flow: null,
  steps: [
    {
      title: 'Which of the two',
      modules: ['lib/codec/backend.js', 'lib/masking/backend.js', 'lib/masking/mask.js'],
      text: 'Short payloads cost less in JavaScript. ws calls mask.js.'
    },
    {
      title: 'JavaScript',
      modules: ['lib/masking/fallback.js', 'lib/codec/scan.js'],
      text: 'It does everything where the addon cannot load.'
    },
    {
      title: 'The addon',
      modules: ['lib/masking/native.js', 'lib/masking/find-addon.js', 'lib/masking/bundled-addon.js'],
      text: 'Numbers cross in memory that both sides know.'
    },
    {
      title: 'C++',
      modules: ['src/addon.cc', 'src/scan.cc', 'src/dispatch.cc', 'src/kernels/'],
      text: 'Arguments are checked again. One kernel for each instruction set.'
    }
  ]
};

/** @type {Lane} */
const SENDING = {
  title: 'Sending: one write for all that has been collected',
  folder: 'lib/codec/',
  flow: 'left',
  steps: [
    {
      title: '7  One write',
      modules: ['lib/codec/frame-writer.js', 'lib/codec/slabs.js'],
      text: 'Frames collect until flush(), or until the turn of the event loop ends.'
    },
    {
      title: '6  Header and key',
      modules: ['lib/codec/header.js', 'lib/codec/masking-key.js'],
      text: 'Frames of a client are masked, each with a key from a batch of random bytes.'
    },
    {
      title: '5  A message is sent',
      modules: [
        'lib/codec/encoder.js',
        'lib/codec/payload-writer.js',
        'lib/codec/prepared.js',
        'lib/codec/read-framed.js'
      ],
      text: 'It is masked while it is copied behind its header. A prepared message is framed once for all.'
    }
  ]
};

/** @type {Lane} */
const WS = {
  title: 'framemask/ws: the API of ws. It is a program that uses the codec',
  folder: 'lib/ws/',
  flow: null,
  steps: [
    {
      title: 'Classes',
      modules: ['lib/ws/websocket.js', 'lib/ws/server.js', 'lib/ws/load-ws.js', 'lib/ws/internals.js'],
      text: 'Subclasses of those of ws, which does the handshakes.'
    },
    {
      title: 'Receiving',
      modules: ['lib/ws/incoming.js', 'lib/ws/inflation.js', 'lib/ws/binary-types.js', 'lib/ws/frame-errors.js'],
      text: "A Decoder behind ws's Receiver."
    },
    {
      title: 'Sending',
      modules: ['lib/ws/outgoing.js', 'lib/ws/compression.js', 'lib/ws/flush-queue.js'],
      text: "An Encoder instead of ws's Sender. One write for each read or turn."
    },
    {
      title: 'Without a line',
      modules: ['lib/ws/register.js', 'lib/ws/redirect.js', 'lib/ws/report.js'],
      text: 'Hooks of Node.js give it to whoever asks for ws.'
    }
  ]
};

/** @type {Lane} */
const DEFLATE = {
  title: 'permessage-deflate: compressed messages, for the codec and for framemask/ws',
  folder: 'lib/deflate/',
  flow: null,
  steps: [
    {
      title: 'Negotiation',
      modules: [
        'lib/deflate/negotiation.js',
        'lib/deflate/agreement.js',
        'lib/deflate/parameters.js',
        'lib/deflate/extension-header.js'
      ],
      text: 'An offer, an answer, and what both ends keep to.'
    },
    {
      title: 'Messages',
      modules: ['lib/deflate/deflation.js', 'lib/deflate/inflation.js'],
      text: 'Which are compressed, where, and in which order.'
    },
    {
      title: 'Contexts',
      modules: [
        'lib/deflate/deflater.js',
        'lib/deflate/inflater.js',
        'lib/deflate/zlib-handle.js',
        'lib/deflate/idle-contexts.js',
        'lib/deflate/thread-pool.js'
      ],
      text: 'Those that a thread shares, reset between messages, or one for each connection.'
    }
  ]
};

/** Modules that all others use. */
const COMMON = [
  'lib/shared/buffers.js',
  'lib/shared/errors.js',
  'lib/shared/inspect.js',
  'lib/shared/option-names.js',
  'lib/shared/node-modules.js',
  'lib/shared/call-in-order.js',
  'lib/shared/pool.js',
  'lib/shared/protocol.js',
  'lib/shared/snapshot.js',
  'lib/tracing.js',
  'lib/frame-id.js'
];

/** Calls that the picture shows between lanes: each must be a `require` in the code. */
const CALLS = [
  ['lib/ws/incoming.js', 'lib/codec/decoder.js'],
  ['lib/ws/compression.js', 'lib/deflate/deflater.js'],
  ['lib/ws/outgoing.js', 'lib/codec/encoder.js'],
  ['lib/codec/delivery.js', 'lib/deflate/inflation.js'],
  ['lib/codec/encoder.js', 'lib/deflate/deflation.js'],
  ['lib/codec/decoder.js', 'lib/codec/frame-finder.js'],
  ['lib/codec/frame-finder.js', 'lib/codec/backend.js'],
  ['lib/codec/payload-writer.js', 'lib/codec/backend.js'],
  ['lib/codec/backend.js', 'lib/masking/backend.js'],
  ['lib/codec/backend.js', 'lib/codec/scan.js'],
  ['lib/masking/backend.js', 'lib/masking/fallback.js'],
  ['lib/masking/backend.js', 'lib/masking/native.js'],
  ['lib/masking/native.js', 'lib/masking/find-addon.js'],
  ['lib/masking/find-addon.js', 'lib/masking/bundled-addon.js']
];

/** @returns {string[]} where the picture and the code differ */
function findDifferences() {
  const drawn = new Set([
    ...[RECEIVING, MASKING, SENDING, DEFLATE, WS].flatMap(({ steps }) => steps.flatMap((s) => s.modules)),
    ...COMMON
  ]);
  const modules = libModules();
  const known = new Set([...modules, ...sources(), 'src/kernels/']);
  const missing = modules.filter((name) => !drawn.has(name)).map((name) => `${name} is not in the picture`);
  const gone = [...drawn].filter((name) => !known.has(name)).map((name) => `${name} does not exist`);
  const uncalled = CALLS.filter(([from, to]) => known.has(from) && !requiresOf(from).includes(to)).map(
    ([from, to]) => `${from} does not require ${to}`
  );
  return [...missing, ...gone, ...uncalled];
}

/** Colours in light and dark: the picture has a background of its own, so that each is readable on any page. */
const COLOURS = {
  light: {
    back: '#ffffff',
    lane: '#f4f6f8',
    box: '#ffffff',
    line: '#c8d1da',
    text: '#1f2328',
    dim: '#59636e',
    flow: '#0969da'
  },
  dark: {
    back: '#0d1117',
    lane: '#161b22',
    box: '#0d1117',
    line: '#3d444d',
    text: '#e6edf3',
    dim: '#9aa4ae',
    flow: '#4493f8'
  }
};

const FONTS = `text { font: 12.5px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif }
.title { font-weight: 600 }
.file { font: 12px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace }`;

function colourRules({ back, lane, box, line, text, dim, flow }) {
  return `.back { fill: ${back} }
.lane { fill: ${lane} }
.box { fill: ${box}; stroke: ${line} }
text { fill: ${text} }
.dim { fill: ${dim} }
.file, .head { fill: ${flow} }
.flow { stroke: ${flow}; stroke-width: 2; fill: none; marker-end: url(#head) }`;
}

const STYLE = `${FONTS}
${colourRules(COLOURS.light)}
@media (prefers-color-scheme: dark) {
${colourRules(COLOURS.dark)}
}`;

const round = (x) => Math.round(x * 10) / 10;

function escapeXml(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function text(x, y, words, kind = '', anchor = 'start') {
  return `<text x="${round(x)}" y="${y}"${kind && ` class="${kind}"`}${anchor === 'start' ? '' : ` text-anchor="${anchor}"`}>${escapeXml(words)}</text>`;
}

function rectangle(x, y, width, height, kind) {
  return `<rect x="${round(x)}" y="${y}" width="${round(width)}" height="${height}" rx="6" class="${kind}"/>`;
}

function arrow(...points) {
  return `<path d="M${points.map(([x, y]) => `${round(x)} ${y}`).join(' L')}" class="flow"/>`;
}

/** @param {string} words @param {number} width in pixels @returns {string[]} lines */
function wrap(words, width) {
  const lines = [''];
  for (const word of words.split(' ')) {
    const line = `${lines.at(-1)} ${word}`.trim();
    if (line.length * CHARACTER <= width) lines[lines.length - 1] = line;
    else lines.push(word);
  }
  return lines;
}

/** @param {Step} step @param {string} folder @param {number} width @returns {[words: string, kind: string, skip: number][]} its lines */
function linesOf({ title, modules, text: words }, folder, width) {
  return [
    [title, 'title', 0],
    ...modules.map((name) => [name.replace(folder, '').replace('lib/', ''), 'file', 0]),
    ...wrap(words, width - 2 * PAD).map((line, i) => [line, 'dim', i === 0 ? 4 : 0])
  ];
}

/**
 * @param {Lane} lane
 * @param {number} y
 * @param {number} left
 * @param {number} right
 * @returns {{ svg: string, boxes: { x: number, width: number }[], top: number, bottom: number, end: number }}
 */
function drawLane({ title, folder, flow, steps }, y, left, right) {
  const width = (right - left - GAP * (steps.length - 1)) / steps.length;
  const boxes = steps.map((step, i) => ({ x: left + i * (width + GAP), width, lines: linesOf(step, folder, width) }));
  const top = y + 34;
  const height = Math.max(...boxes.map(({ lines }) => lines.length)) * LINE + 4 + 2 * PAD;
  const parts = [
    rectangle(left - 12, y, right - left + 24, height + 46, 'lane'),
    text(left, y + 22, title, 'title'),
    text(right, y + 22, folder, 'file', 'end'),
    ...boxes.flatMap(({ x, lines }) => {
      let baseline = top + 4;
      const words = lines.map(([line, kind, skip]) => {
        baseline += LINE + skip;
        return text(x + PAD, baseline, line, kind);
      });
      return [rectangle(x, top, width, height, 'box'), ...words];
    })
  ];
  const middle = top + height / 2;
  for (const { x } of flow === null ? [] : boxes.slice(1)) {
    parts.push(
      flow === 'right' ? arrow([x - GAP, middle], [x - 2, middle]) : arrow([x, middle], [x - GAP + 2, middle])
    );
  }
  return { svg: parts.join('\n'), boxes, top, bottom: top + height, end: y + height + 46 };
}

/**
 * @returns {string} the SVG
 * @throws {Error} if the picture and the code differ
 */
function drawPicture() {
  const differences = findDifferences();
  if (differences.length > 0) {
    throw new Error(`docs/life-of-a-chunk.svg (scripts/docs/picture.js):\n  ${differences.join('\n  ')}`);
  }
  const left = MARGIN + SOCKET + 36;
  const right = WIDTH - MARGIN - PROGRAM - 36;
  const receiving = drawLane(RECEIVING, MARGIN, left, right);
  const masking = drawLane(MASKING, receiving.end + 28, left, right);
  const sending = drawLane(SENDING, masking.end + 28, left, right);
  const deflate = drawLane(DEFLATE, sending.end + 28, left, right);
  const ws = drawLane(WS, deflate.end + 28, left, right);
  const height = ws.end + 64;

  const middle = ({ x, width }) => x + width / 2;
  const centre = ({ top, bottom }) => (top + bottom) / 2;
  const programX = WIDTH - MARGIN - PROGRAM;
  const socketEnd = MARGIN + SOCKET;
  const [, found] = receiving.boxes;
  const [written, , sent] = sending.boxes;
  const delivered = receiving.boxes[3];
  const halfway = (MARGIN + sending.end) / 2;
  const program = [
    ['onMessage', centre(receiving) + 22],
    ['onPing …', centre(receiving) + 38],
    ['text', centre(sending) - 28],
    ['binary …', centre(sending) - 12]
  ];
  const shared = (inShared) =>
    COMMON.filter((name) => name.startsWith('lib/shared/') === inShared)
      .map((name) => name.replace(inShared ? 'lib/shared/' : 'lib/', ''))
      .join('  ');

  const parts = [
    rectangle(0, 0, WIDTH, height, 'back'),
    rectangle(MARGIN, MARGIN, SOCKET, sending.end - MARGIN, 'box'),
    text(MARGIN + SOCKET / 2, halfway, 'socket', 'title', 'middle'),
    rectangle(programX, MARGIN, PROGRAM, sending.end - MARGIN, 'box'),
    text(programX + PROGRAM / 2, halfway - 8, 'your', 'title', 'middle'),
    text(programX + PROGRAM / 2, halfway + 9, 'program', 'title', 'middle'),
    ...program.map(([words, y]) => text(programX + PROGRAM / 2, y, words, 'file', 'middle')),
    receiving.svg,
    masking.svg,
    sending.svg,
    deflate.svg,
    ws.svg,
    arrow([socketEnd, centre(receiving)], [left - 2, centre(receiving)]),
    arrow([delivered.x + delivered.width, centre(receiving)], [programX - 2, centre(receiving)]),
    arrow([programX, centre(sending)], [sent.x + sent.width + 2, centre(sending)]),
    arrow([written.x, centre(sending)], [socketEnd + 2, centre(sending)]),
    // Into the masking: from the scan above, and from the encoder below.
    arrow([middle(found), receiving.bottom], [middle(found), receiving.end + 26]),
    arrow([middle(sent), sending.top], [middle(sent), masking.end + 2]),
    text(left - 12, ws.end + 28, 'Used by all', 'title'),
    text(left + 76, ws.end + 28, `shared/:  ${shared(true)}`, 'file'),
    text(left + 76, ws.end + 46, shared(false), 'file')
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title">
<!-- Drawn by npm run build:docs. Do not edit. -->
<title id="title">The life of a chunk: from the socket through the Decoder to your program, and back through the Encoder</title>
<style>
${STYLE}
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto" markerUnits="userSpaceOnUse"><path d="M0 0 L8 4 L0 8 z" class="head"/></marker></defs>
${parts.join('\n')}
</svg>
`;
}

module.exports = { drawPicture, findDifferences };
