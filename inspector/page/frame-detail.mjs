// All about one frame: the verdict, its header bit by bit, its payload, its message, both ends.

import { asText, byId, element, fromBase64, hexDump, visible } from './dom.mjs';

/** Bytes of a payload that are shown at first. */
export const FIRST_BYTES = 1024;

const count = (number, word) => `${number} ${word}${number === 1 ? '' : 's'}`;
const paragraph = (text, name = '') => element('p', { class: name, text });

function section(title, label, ...children) {
  return element('section', label === null ? {} : { 'aria-label': label }, element('h3', { text: title }), ...children);
}

function table(head, rows, name) {
  const line = (tag, values) => element('tr', {}, ...values.map((text) => element(tag, { text })));
  const body = rows.map((values) => line('td', values));
  return element('table', { class: name }, element('thead', {}, line('th', head)), element('tbody', {}, ...body));
}

function button(text, onClick, attributes = {}) {
  const made = element('button', { type: 'button', text, ...attributes });
  made.addEventListener('click', onClick);
  return made;
}

/** Bytes in hex, and as text. */
function bytesPart(title, bytes, isText = true) {
  const text = isText ? element('pre', { class: 'text', text: asText(bytes), tabindex: 0 }) : null;
  return section(title, null, element('pre', { text: hexDump(bytes), tabindex: 0 }), text);
}

function verdictPart({ word, code, closeCode, message, rule }) {
  const title = code === undefined ? word : `${word}: ${code}, close code ${closeCode}`;
  const sentence = rule ? element('blockquote', { text: rule.sentence }) : null;
  const place = rule ? paragraph(`RFC ${rule.rfc}, section ${rule.section}`, 'hint') : null;
  const part = section(title, 'Verdict', message ? paragraph(message) : null, sentence, place);
  part.className = `verdict ${word === 'not read' ? 'unread' : word}`;
  return part;
}

function headerPart({ header, bits }) {
  if (header === null) {
    const { fin, rsv, masked } = bits;
    const text = `FIN ${fin ? 1 : 0}, RSV ${rsv.toString(2).padStart(3, '0')}, ${masked ? 'masked' : 'not masked'}`;
    return section('Header', 'Header', paragraph(`${text}. This is from records, which do not have the bytes.`));
  }
  const rows = header.fields.map((field) => [
    field.name,
    String(field.byte),
    field.bits,
    field.value,
    field.meaning,
    field.section
  ]);
  return section(
    `Header, ${count(header.hex.length / 2, 'byte')}`,
    'Header',
    element('pre', { text: header.hex.replace(/../g, '$& ').trim() }),
    table(['field', 'byte', 'bits', 'value', 'meaning', 'RFC 6455'], rows, 'fields')
  );
}

function payloadPart({ payload, length, shown, close }, onMore) {
  if (length === 0) return paragraph('The payload is empty.');
  if (payload === null) {
    return paragraph(`The payload of ${count(length ?? 0, 'byte')} is not known: records do not have it.`, 'hint');
  }
  const part = element('section', { 'aria-label': 'Payload' });
  const bytes = fromBase64(payload.unmasked);
  const isMore = payload.available > bytes.length;
  const some = isMore ? `, the first ${bytes.length} of ${payload.available}` : '';
  if (close !== null) {
    const reason = close.reason === '' ? '' : `, reason: ${visible(close.reason)}`;
    part.append(paragraph(`close code ${close.code}${reason} (section 5.5.1)`));
  }
  if (payload.masked !== null) {
    part.append(paragraph(`masking key ${payload.key}`, 'mono'));
    part.append(bytesPart(`Payload, masked${some}`, fromBase64(payload.masked), false));
  }
  part.append(bytesPart(`Payload${payload.masked === null ? '' : ', unmasked'}${some}`, bytes));
  if (isMore) part.append(button('Show more', () => onMore(shown * 16)));
  return part;
}

function messagePart({ message, index }, onSelect) {
  if (message === null || (message.frames.length === 1 && message.inflated === null)) return null;
  const { kind, length, fragments, compressed, complete, inflated, inflatedLength, omitted } = message;
  const state = `${compressed ? ', compressed' : ''}${complete ? '' : ', not complete'}`;
  const frames = message.frames.map((frame) => {
    const text = `${frame.sequence} ${frame.name} ${frame.length ?? '?'}`;
    return button(text, () => onSelect(frame.index), { 'aria-current': String(frame.index === index) });
  });
  if (omitted > 0) frames.push(element('span', { text: `and ${omitted} more` }));
  const bytes = fromBase64(message.bytes);
  return section(
    `Its message: ${kind} of ${count(length, 'byte')} in ${count(fragments, 'frame')}${state}`,
    'Message',
    element('div', { class: 'frames' }, ...frames),
    bytes.length > 0 && !compressed ? bytesPart('Its bytes, put together', bytes) : null,
    inflated === null ? null : bytesPart(`Inflated, ${count(inflatedLength, 'byte')}`, fromBase64(inflated))
  );
}

function endsPart({ ends, from }) {
  if (ends === null) return null;
  const line = (direction, role) => {
    const end = ends[direction];
    if (end === null) return [direction, role, 'no record', '', ''];
    const time = end.time === null ? '' : new Date(end.time).toISOString();
    return [direction, end.role, end.error ?? `${end.length} bytes`, time, visible(end.id)];
  };
  const rows = [line('sent', from), line('received', from === 'client' ? 'server' : 'client')];
  return section('Both ends', 'Both ends', table(['', 'end', 'says', 'time there', 'record'], rows, 'words'));
}

/**
 * @param {object} detail made by lib/detail.js
 * @param {{ onMore: (bytes: number) => void, onSelect: (index: number) => void }} actions
 */
export function showDetail(detail, { onMore, onSelect }) {
  const place = byId('detail');
  const parts = [
    element('h2', { text: `Frame ${detail.sequence} of the ${detail.from}: ${detail.name}` }),
    paragraph(visible(detail.connection), 'hint'),
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
  place.replaceChildren(paragraph('Select a frame to see its bits and bytes.', 'hint'));
  delete place.dataset.index;
}
