'use strict';

const { invalidType, outOfRange } = require('../shared/errors');

const OPTIONS = {
  Decoder: [
    'role',
    'onMessage',
    'onPing',
    'onPong',
    'onClose',
    'onError',
    'onFrame',
    'maxPayload',
    'maxFragments',
    'text',
    'borrowed',
    'fragmentLengths',
    'rsv1',
    'trace',
    'connectionId',
    'context',
    'deflate',
    'onInflated'
  ],
  Encoder: ['role', 'writable', 'recycle', 'trace', 'connectionId', 'deflate', 'onDeflated']
};

/**
 * In shorter names and in `context`, one letter makes other words that options may have (test,
 * roles, content): only their case is compared.
 */
const MIN_MISSPELT = 6;

/** The maximum size of the sets below, for programs that make up names as they run. */
const MAX_ACCEPTED = 1000;

// Names that need no check: those of both codecs, which may be given the same object, and those
// found to be unlike any option.
const optionsOfAll = Object.values(OPTIONS).flat();
const accepted = { Decoder: new Set(optionsOfAll), Encoder: new Set(optionsOfAll) };

/** Refuses options that are not an object, and names that are almost an option's. */
function checkOptions(options, owner) {
  if (typeof options !== 'object' || options === null) throw invalidType('options', 'an object', options);
  const names = accepted[owner];
  // Costs 45 ns for six options, 20 for two (Node 20). Names on prototypes are ignored, so that
  // Object.prototype may have any.
  for (const name in options) {
    if (!names.has(name) && Object.hasOwn(options, name)) checkUnknown(name, owner);
  }
  return options;
}

function checkUnknown(name, owner) {
  const lowerCase = name.toLowerCase();
  const options = OPTIONS[owner];
  const meant =
    options.find((option) => option.toLowerCase() === lowerCase) ??
    options.find((option) => isOneLetterOff(lowerCase, option.toLowerCase()));
  if (meant !== undefined) {
    const error = new TypeError(`${owner} has no option "${name}". Did you mean "${meant}"?`);
    error.code = 'ERR_INVALID_ARG_VALUE';
    throw error;
  }
  if (accepted[owner].size < MAX_ACCEPTED) accepted[owner].add(name);
}

/** Whether `a` differs from the option `b` by one letter, or by two neighbours swapped. */
function isOneLetterOff(a, b) {
  // A leading underscore is no slip: objects that serve as options may have private fields.
  if (b.length < MIN_MISSPELT || b === 'context' || a[0] === '_') return false;
  if (Math.abs(a.length - b.length) > 1) return false;

  let start = 0;
  while (a[start] === b[start]) start++;
  let endA = a.length;
  let endB = b.length;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA--;
    endB--;
  }
  const restA = a.slice(start, endA);
  const restB = b.slice(start, endB);
  if (restA.length <= 1 && restB.length <= 1) return true;
  return restA.length === 2 && restB.length === 2 && restA[0] === restB[1] && restA[1] === restB[0];
}

function readHandler(options, name) {
  const value = options[name];
  if (value !== undefined && typeof value !== 'function') throw invalidType(`options.${name}`, 'a function', value);
  return value;
}

/**
 * What trace records say of the connection: `trace`, for both codecs of one end, or `connectionId`
 * as its `id`; null for neither.
 */
function readTrace(options) {
  const { connectionId: id = null, trace = null } = options;
  if (id !== null && typeof id !== 'string') throw invalidType('options.connectionId', 'a string', id);
  if (typeof trace !== 'object') throw invalidType('options.trace', 'an object', trace);
  return trace ?? (id === null ? null : { id });
}

function readBoolean(options, name, byDefault) {
  const value = options[name] ?? byDefault;
  if (typeof value !== 'boolean') throw invalidType(`options.${name}`, 'a boolean', value);
  return value;
}

function readChoice(options, name, choices, byDefault) {
  const value = options[name] ?? byDefault;
  if (!choices.includes(value)) {
    throw invalidType(`options.${name}`, `one of ${choices.map((text) => `'${text}'`).join(', ')}`, value);
  }
  return value;
}

function readLimit(options, name, least, byDefault) {
  const value = options[name] ?? byDefault;
  if (typeof value !== 'number') throw invalidType(`options.${name}`, 'a number', value);
  if (!(value >= least && (Number.isSafeInteger(value) || value === Number.POSITIVE_INFINITY))) {
    throw outOfRange(`options.${name}`, `a whole number from ${least} on, or Infinity`, value);
  }
  return value;
}

module.exports = { OPTIONS, checkOptions, readBoolean, readChoice, readTrace, readHandler, readLimit };
