// All about one frame: the verdict, its header bit by bit, its payload, its message, both ends.

import { asText, byId, element, fromBase64, hexDump, visible } from './dom.mjs';

/** Bytes of a payload that are shown at first. */
export const FIRST_BYTES = 1024;

const count = (number, word) => `${number} ${word}${number === 1 ? '' : 's'}`;

function verdictPart({ word, code, closeCode, message, rule }) {
  const title = code === undefined ? word : `${word}: ${code}, close code ${closeCode}`;
  return element(
    'section',
    { class: `verdict ${word === 'not read' ? 'unread' : word}`, 'aria-label': 'Verdict' },
    element('h3', { text: title }),
    message ? element('p', { text: message }) : null,
    rule ? element('blockquote', { text: rule.sentence }) : null,
    rule ? element('p', { class: 'hint', text: `RFC ${rule.rfc}, section ${rule.section}` }) : null
  );
}

function table(head, rows, name) {
  const cells = (tag, values) => values.map((text) => element(tag, { text }));
  return element(
    'table',
    { class: name },
    element('thead', {}, element('tr', {}, ...cells('th', head))),
    element('tbody', {}, ...rows.map((values) => element('tr', {}, ...cells('td', values))))
  );
}

function headerPart({ header, bits }) {
  if (header === null) {
    const text = `FIN ${bits.fin ? 1 : 0}, RSV ${bits.rsv.toString(2).padStart(3, '0')}, ${bits.masked ? 'masked' : 'not masked'}`;
    return element(
      'section',
      {},
      element('h3', { text: 'Header' }),
      element('p', { text: `${text}. This is from records, which do not have the bytes.` })
    );
  }
  const rows = header.fields.map(({ name, byte, bits: digits, value, meaning, section }) => [
    name,
    String(byte),
    digits,
    value,
    meaning,
    section
  ]);
  return element(
    'section',
    { 'aria-label': 'Header' },
    element('h3', { text: `Header, ${count(header.hex.length / 2, 'byte')}` }),
    element('pre', { text: header.hex.replace(/../g, '$& ').trim() }),
    table(['field', 'byte', 'bits', 'value', 'meaning', 'RFC 6455'], rows, 'fields')
  );
}

/** A piece of bytes, in hex and as text. */
function bytesPart(title, bytes, isText = true) {
  return element(
    'section',
    {},
    element('h3', { text: title }),
    element('pre', { text: hexDump(bytes), tabindex: 0 }),
    isText ? element('pre', { class: 'text', text: asText(bytes), tabindex: 0 }) : null
  );
}

function payloadPart({ payload, length, shown, close }, onMore) {
  if (length === 0) return element('p', { text: 'The payload is empty.' });
  if (payload === null) {
    return element('p', {
      class: 'hint',
      text: `The payload of ${count(length ?? 0, 'byte')} is not known: records do not have it.`
    });
  }
  const part = element('section', { 'aria-label': 'Payload' });
  const bytes = fromBase64(payload.unmasked);
  const some = payload.available > bytes.length ? `, the first ${bytes.length} of ${payload.available}` : '';
  if (close !== null) {
    part.append(
      element('p', {
        text: `close code ${close.code}${close.reason === '' ? '' : `, reason: ${visible(close.reason)}`} (section 5.5.1)`
      })
    );
  }
  if (payload.masked !== null) {
    part.append(element('p', { class: 'mono', text: `masking key ${payload.key}` }));
    part.append(bytesPart(`Payload, masked${some}`, fromBase64(payload.masked), false));
  }
  part.append(bytesPart(`Payload${payload.masked === null ? '' : ', unmasked'}${some}`, bytes));
  if (payload.available > bytes.length) part.append(moreButton(shown, onMore));
  return part;
}

function moreButton(shown, onMore) {
  const button = element('button', { type: 'button', text: 'Show more' });
  button.addEventListener('click', () => onMore(shown * 16));
  return button;
}

function messagePart({ message, index }, onSelect) {
  if (message === null || (message.frames.length === 1 && message.inflated === null)) return null;
  const state = message.complete ? '' : ', not complete';
  const compressed = message.compressed ? ', compressed' : '';
  const title = `Its message: ${message.kind} of ${count(message.length, 'byte')} in ${count(message.fragments, 'frame')}${compressed}${state}`;
  const frames = element('div', { class: 'frames' });
  for (const frame of message.frames) {
    const text = `${frame.sequence} ${frame.name} ${frame.length ?? '?'}`;
    const button = element('button', { type: 'button', text, 'aria-current': String(frame.index === index) });
    button.addEventListener('click', () => onSelect(frame.index));
    frames.append(button);
  }
  if (message.omitted > 0) frames.append(element('span', { text: `and ${message.omitted} more` }));
  const bytes = fromBase64(message.bytes);
  return element(
    'section',
    { 'aria-label': 'Message' },
    element('h3', { text: title }),
    frames,
    bytes.length > 0 && !message.compressed ? bytesPart('Its bytes, put together', bytes) : null,
    message.inflated === null
      ? null
      : bytesPart(`Inflated, ${count(message.inflatedLength, 'byte')}`, fromBase64(message.inflated))
  );
}

function endsPart({ ends, from }) {
  if (ends === null) return null;
  const other = from === 'client' ? 'server' : 'client';
  const line = (direction, role) => {
    const end = ends[direction];
    if (end === null) return [direction, role, 'no record', '', ''];
    const time = end.time === null ? '' : new Date(end.time).toISOString();
    return [direction, end.role, end.error ?? `${end.length} bytes`, time, visible(end.id)];
  };
  return element(
    'section',
    { 'aria-label': 'Both ends' },
    element('h3', { text: 'Both ends' }),
    table(['', 'end', 'says', 'time there', 'record'], [line('sent', from), line('received', other)], 'words')
  );
}

/**
 * @param {object} detail what lib/detail.js has made
 * @param {{ onMore: (bytes: number) => void, onSelect: (index: number) => void }} actions
 */
export function showDetail(detail, { onMore, onSelect }) {
  const place = byId('detail');
  const parts = [
    element('h2', { text: `Frame ${detail.sequence} of the ${detail.from}: ${detail.name}` }),
    element('p', { class: 'hint', text: visible(detail.connection) }),
    verdictPart(detail.verdict),
    headerPart(detail),
    payloadPart(detail, onMore),
    messagePart(detail, onSelect),
    endsPart(detail)
  ];
  place.replaceChildren(...parts.filter((part) => part !== null));
  place.dataset.index = String(detail.index);
  place.scrollTop = 0;
}

export function clearDetail() {
  const place = byId('detail');
  place.replaceChildren(element('p', { class: 'hint', text: 'Select a frame to see its bits and bytes.' }));
  delete place.dataset.index;
}
