'use strict';

// Compares the logs of two runs, and knows the differences between ws and framemask/ws that are
// meant to stay.

const { isDeepStrictEqual } = require('node:util');
const zlib = require('node:zlib');
const { ReferenceDecoder } = require('../reference');

/**
 * What a predicate looks at: the logs of one WebSocket under test.
 *
 * @typedef {object} Context
 * @property {string[]} theirs the events under ws
 * @property {string[]} ours the events under framemask/ws
 * @property {number} shared how many events are the same in the beginning, and in the same steps
 * @property {ReferenceDecoder | null} reference which has read the bytes of the raw peer, if there
 *   is one
 * @property {boolean} inParts whether framemask/ws gives long messages as streams
 * @property {Record<'theirs' | 'ours', string[]>} exceptions that nobody has caught
 */

const JOINED = 'callbacks of joined writes come a tick later';
const AT_ONCE = 'compressed messages are sent and received at once';

/** The difference may have consequences: nothing behind it is compared. */
const DIFFERENCES = [
  {
    name: 'text is refused at its first bad byte',
    why: 'RFC 6455, section 8.1, allows it; ws looks at the end of a message, after other frames.',
    applies: ({ ours, theirs, shared, reference, inParts }) => {
      // The same error, but sooner: what a reaction does later then finds the WebSocket closing.
      const at = reference === null ? shared : ours.slice(0, shared + 1).findIndex(isTextError);
      return (
        at !== -1 &&
        isTextError(ours[at] ?? '') &&
        (reference === null ||
          (reference.error === 'UTF8' && reference.message !== null) ||
          // The reference does not inflate; in parts, compressed text is judged as it arrives, too.
          (inParts && hasCompressedText(reference))) &&
        // ws does not deliver the message either, and so none behind it.
        !theirs.slice(at).some(isMessage)
      );
    }
  },
  {
    name: 'a length that is not minimal is refused',
    why: 'RFC 6455, section 5.2: "the minimal number of bytes MUST be used". ws takes it.',
    applies: ({ ours, theirs, shared, reference }) =>
      reference?.error === 'LENGTH_NOT_MINIMAL' &&
      ours[shared]?.startsWith('error ') &&
      !theirs.slice(0, shared).some(isError)
  },
  {
    name: 'a mistake in a header that is cut is found some bytes earlier or later',
    why: 'ws waits for two bytes, and then does not wait for the rest. framemask looks at the first, and at the whole.',
    applies: ({ ours, theirs, shared, reference }) =>
      reference !== null &&
      [ours, theirs].some((lines) => isError(lines[shared] ?? '')) &&
      [ours, theirs].every((lines) => !lines.slice(shared).some(isDelivery)) &&
      // If both find one, it is the same.
      new Set([...ours, ...theirs].filter(isError)).size === 1
  },
  {
    name: 'a frame with a mistake in its header, and in the wrong place, is refused for its header',
    why: 'The mask and the length are read first. ws looks at the place before.',
    applies: ({ ours, theirs, shared }) =>
      / WS_ERR_((UN)?EXPECTED_MASK|UNSUPPORTED_DATA_PAYLOAD_LENGTH) /.test(ours[shared]) &&
      / WS_ERR_INVALID_OPCODE /.test(theirs[shared])
  },
  {
    name: 'nothing is parsed behind an error',
    why: 'ws delivers what is in chunks that wait behind the one with the error.',
    applies: ({ ours, theirs, shared, reference, exceptions }) =>
      (theirs.slice(0, shared).some(isError) &&
        theirs.length > ours.length &&
        isDeepStrictEqual(
          ours.slice(shared).map(withoutAmount),
          theirs
            .slice(shared)
            .filter((line) => !isDelivery(line))
            .map(withoutAmount)
        )) ||
      (exceptions.theirs.length > 0 &&
        exceptions.ours.length === 0 &&
        // Of a pair, the other one may be the one that had it.
        (reference === null || ours.some((line) => /^error .*WS_ERR_/.test(line))))
  },
  {
    name: 'messages behind a final block that ends with its message are inflated',
    why: 'RFC 7692, section 7.2.3.4, allows such blocks. ws goes on with the ended stream, and delivers nothing.',
    // What is no DEFLATE is an error for framemask, while ws skips the first fragment.
    applies: ({ ours, theirs, reference }) => {
      const { some, others, shared } = withoutStates(ours, theirs);
      return (
        reference !== null &&
        [some, others].some((lines) => /^message|^error .* Z_/.test(lines[shared] ?? '')) &&
        some.slice(0, shared).filter(isMessage).length >= countToFinalBlock(reference)
      );
    }
  },
  {
    name: 'messages behind an empty compressed one are inflated',
    why: 'It has no block. Of the tail alone, ws begins a stored block, which the next compressed message breaks.',
    // With ws, the tail alone goes on with a block that the message before has not ended; and a
    // next message without a byte is the tail's.
    applies: ({ ours, theirs, reference }) => {
      if (reference === null) return false;
      const before = countTo(isEmpty, reference) - 1;
      const { some, others, shared } = withoutStates(ours, theirs);
      const [messages, otherMessages] = [some, others].map((lines) => lines.filter(isMessage));
      return (
        messages.findIndex((line, i) => i < otherMessages.length && line !== otherMessages[i]) >= before ||
        ([some, others].some((lines) => isError(lines[shared] ?? '')) &&
          some.slice(0, shared).filter(isMessage).length >= before)
      );
    }
  },
  {
    name: JOINED,
    why: 'One write has the frames of a read, or of a turn. Not of one WebSocket alone: see `explain`.',
    applies: () => false
  },
  {
    name: AT_ONCE,
    why: 'ws takes each through a thread pool, so that ends, Pings and Pongs may come before. See `explain`.',
    applies: () => false
  }
];

const isError = (line) => line.startsWith('error ');
const isTextError = (line) => /^error .*WS_ERR_INVALID_UTF8 Invalid WebSocket frame: invalid UTF-8 sequence/.test(line);
/** Without readyState, which may be CLOSING in one of two logs. */
const withoutState = (line) => line.replace(/\[[0-3]\]$/, '');

/**
 * Two logs without readyState, and how many of their lines agree: ws, which inflates in the thread
 * pool, may have left OPEN before.
 */
function withoutStates(ours, theirs) {
  const [some, others] = [ours, theirs].map((lines) => lines.map(withoutState));
  const at = some.findIndex((line, i) => line !== others[i]);
  return { some, others, shared: at === -1 ? some.length : at };
}

/** Without bufferedAmount, in which what was sent upon a delivery counts. */
const withoutAmount = (line) => line.replace(/, \d+ buffered$/, '');
const isMessage = (line) => line.startsWith('message ');
const isDelivery = (line) => /^(message|ping|pong) /.test(line);

const messagesOf = ({ events }) => events.filter(({ kind }) => kind === 'text' || kind === 'binary');

/** @returns {number} messages up to the first compressed one that is meant; Infinity without one */
function countTo(isMeant, reference) {
  return messagesOf(reference).findIndex(({ rsv1, data }) => rsv1 && isMeant(data)) + 1 || Infinity;
}

const hasCompressedText = ({ message, events }) =>
  (message?.firstByte & 0x4f) === 0x41 || events.some(({ kind, rsv1 }) => kind === 'text' && rsv1);

const isEmpty = ({ length }) => length === 0;

/** Inflates bytes; null if they are no DEFLATE, or, without `finishFlush`, have no final block. */
function inflate(bytes, options) {
  try {
    return zlib.inflateRawSync(bytes, options);
  } catch {
    return null;
  }
}

/**
 * @returns {number} messages up to the first one with which, and with the tail that it is given,
 *   DEFLATE ends; Infinity without one
 */
function countToFinalBlock(reference) {
  let before = Buffer.alloc(0);
  for (const [i, { rsv1, data }] of messagesOf(reference).entries()) {
    if (!rsv1) continue;
    const bytes = Buffer.concat([data, Buffer.from('0000ffff', 'hex')]);
    const options = { info: true, dictionary: before.length === 0 ? undefined : before.subarray(-32_768) };
    const whole = inflate(bytes, options);
    if (whole?.engine.bytesWritten === bytes.length) return i + 1;
    if (whole !== null) continue;
    const open = inflate(bytes, { ...options, finishFlush: zlib.constants.Z_SYNC_FLUSH });
    if (open === null) break;
    before = Buffer.concat([before, open.buffer]);
  }
  return Number.POSITIVE_INFINITY;
}

/** @returns {string[]} the channels of two logs that differ */
function findDifferent(theirs, ours) {
  const names = new Set([...Object.keys(theirs), ...Object.keys(ours)]);
  return [...names].sort().filter((name) => !isDeepStrictEqual(theirs[name], ours[name]));
}

/**
 * @returns {string | undefined} the name of the difference that is meant to stay; '' if the logs
 *   are the same; undefined for a finding
 */
function explain(program, theirs, ours, sent) {
  const different = findDifferent(theirs, ours);
  if (different.length === 0) return '';
  const isLater = (name) => SAME_BUT_LATER[name.split('.')[1]]?.(theirs[name] ?? [], ours[name] ?? []);
  if (different.every(isLater)) return JOINED;
  for (const role of program.tested) {
    const context = createContext(program, role, theirs, ours, sent);
    const difference = DIFFERENCES.find(({ applies }) => applies(context));
    if (difference !== undefined) return difference.name;
  }
  const isSame = (role) => sameButForCompression(program, theirs, ours, `${role}.events`);
  return program.tested.every(isSame) ? AT_ONCE : undefined;
}

/**
 * Whether a WebSocket that has negotiated permessage-deflate received the same messages, Pings and
 * Pongs, as far as both received them before the end, each kind in its order; and the same errors.
 * A message that comes in another step may come as the binaryType that was set meanwhile.
 */
function sameButForCompression(program, theirs, ours, channel) {
  const setsBinaryType = JSON.stringify(program).includes('"op":"binaryType"');
  const logs = [theirs[channel] ?? [], ours[channel] ?? []];
  const isCompressed = (log) => log.some((line) => /^in the end .* permessage-deflate/.test(line));
  const isSame = (start) => {
    const [some, others] = logs.map((log) => log.filter((line) => line.startsWith(start)).map(withoutState));
    const isSameLine = (line, other) => line === other || (setsBinaryType && sameButForType(line, other));
    return some.slice(0, others.length).every((line, i) => isSameLine(line, others[i]));
  };
  return logs.every(isCompressed) && ['message ', 'ping ', 'pong ', 'error '].every(isSame);
}

/**
 * Whether a message came as two types of data, of the same length; and with the same bytes, unless
 * it is a Blob, whose bytes are not shown, or fragments, which are shown one by one.
 */
function sameButForType(line, other) {
  const [some, others] = [line, other].map((text) => {
    const [, type, rest] = /^message (\[|ArrayBuffer|Buffer|Blob).* (\w+) $/.exec(text) ?? [];
    const pieces = [...text.matchAll(/(?:Buffer|Blob) (\d+) ([\w+/=]*)/g)];
    const size = pieces.reduce((sum, [, size]) => sum + Number(size), 0);
    return { type, rest, size, bytes: pieces.length === 1 ? pieces[0][2] : '' };
  });
  if (some.type === undefined || others.type === undefined || some.type === others.type) return false;
  const sameBytes = some.bytes === '' || others.bytes === '' || some.bytes === others.bytes;
  return some.rest === others.rest && some.size === others.size && sameBytes;
}

/**
 * A callback that is called with an error because the WebSocket is closing comes in the next tick.
 * The callbacks of what was sent before come when it has been written: with joined writes, a tick
 * later than with ws. Each kind must have its order, and the same step.
 */
function sameButForTicks(theirs, ours) {
  const isAtOnce = (line) => isStep(line) || /is not open: |_AFTER_END/.test(line);
  const isLater = (line) => isStep(line) || !isAtOnce(line);
  return [isAtOnce, isLater].every((kind) => sameButForClosed(theirs.filter(kind), ours.filter(kind)));
}

/**
 * Where a callback does operations, the WebSocket may be closed by then: `pause` and `resume` do
 * nothing.
 */
function sameButForClosed(theirs, ours) {
  const closed = (line) => line.replace(/ \[[23]/, ' [3').replace('readyState 2 (CLOSING)', 'readyState 3 (CLOSED)');
  const unpaused = (line) => line.replace(' [3 paused]', ' [3]');
  const isSame = (line, other) => line === other || unpaused(closed(line)) === unpaused(other);
  return theirs.length === ours.length && theirs.every((line, i) => isSame(line, ours[i]));
}

/** The channels in which joined writes may show. */
const SAME_BUT_LATER = { callbacks: sameButForTicks, operations: sameButForClosed };

const isStep = (line) => line.startsWith('--');
const withoutSteps = (log = []) => log.filter((line) => !isStep(line));

/** @returns {Context} */
function createContext({ sides }, role, theirs, ours, sent) {
  const { skipUTF8Validation, streamFrom } = sides[role].options;
  const reference = sent && new ReferenceDecoder({ role, rsv1: true, skipUTF8Validation });
  reference?.write(sent);
  const [some, others] = [theirs, ours].map((logs) => logs[`${role}.events`] ?? []);
  let same = 0;
  while (same < others.length && some[same] === others[same]) same++;
  return {
    theirs: withoutSteps(some),
    ours: withoutSteps(others),
    shared: withoutSteps(others.slice(0, same)).length,
    reference,
    inParts: streamFrom !== undefined,
    exceptions: {
      theirs: withoutSteps(theirs['process.exceptions']),
      ours: withoutSteps(ours['process.exceptions'])
    }
  };
}

module.exports = { DIFFERENCES, explain, findDifferent };
