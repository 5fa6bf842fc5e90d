// All about one frame: the verdict, its header bit by bit, its payload, its message, both ends.

import { byId, count, element, formatNumber, fromBase64, hexDump, visible } from './dom.mjs';
import { indentJson } from './json.mjs';

/** Bytes of a payload that are shown at first. */
export const FIRST_BYTES = 8192;

const paragraph = (text, name = '') => element('p', { class: name, text });

function section(title, label, ...children) {
  return element('section', { 'aria-label': label }, element('h3', { text: title }), ...children);
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

const textPart = (text) => element('pre', { class: 'text', text: visible(text), tabindex: 0 });

/** Bytes as text, or as indented JSON, with their hex beside it. */
function bytesPart(bytes, isText = true) {
  const hex = element('pre', { text: hexDump(bytes, isText ? 8 : 16), tabindex: 0 });
  if (!isText) return hex;
  const text = new TextDecoder().decode(bytes);
  return element('div', { class: 'beside' }, textPart(indentJson(text) ?? text), hex);
}

function verdictPart({ word, code, closeCode, message, rule }) {
  if (word === 'good') return paragraph(`good: ${message}`, 'verdict');
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
  return section(
    `Header, ${count(header.hex.length / 2, 'byte')}`,
    'Header',
    element('pre', { text: header.hex.replace(/../g, '$& ').trim() }),
    table(['field', 'byte', 'bits', 'value', 'meaning', 'RFC 6455'], header.fields, 'fields')
  );
}

const COPIES = ['payload', 'hex', 'frame', 'command', 'link'];
const HINTS = { command: 'A command of Node.js that connects, and sends the message again' };

/** Buttons that copy the frame. */
function copiesPart({ message, header }, { onCopy }) {
  const made = COPIES.map((part) => {
    const title = HINTS[part] ?? '';
    const own = button(part, () => onCopy(part, own), { title });
    own.disabled = (part === 'frame' && header === null) || (part === 'command' && message === null);
    return own;
  });
  return element('div', { class: 'controls', role: 'group', 'aria-label': 'Copy' }, paragraph('Copy', 'hint'), ...made);
}

/** Says that these are the first bytes of more. */
function morePart({ length }, all, shown, onMore) {
  if (length === all) return [];
  const said = paragraph(`The first ${formatNumber(length)} of ${count(all, 'byte')}.`, 'hint');
  return length === shown && onMore !== null ? [said, button('Show more', () => onMore(shown * 16))] : [said];
}

/** The message, as its sender meant it: inflated, and put together. */
function messagePart({ message, index, shown }, { onMore, onSelect }) {
  if (message === null) return null;
  const { kind, length, fragments, compressed, complete, inflatedLength, omitted } = message;
  const title = [
    `${kind} of ${count(length, 'byte')}`,
    fragments > 1 ? ` in ${count(fragments, 'frame')}` : '',
    compressed ? ', compressed' : '',
    inflatedLength === null ? '' : `, inflated ${count(inflatedLength, 'byte')}`,
    complete ? '' : ', not complete'
  ];
  const bytes = fromBase64(message.bytes ?? '');
  const all = inflatedLength ?? length;
  const frames = message.frames.map((frame) => {
    const text = `${frame.sequence} ${frame.name} ${frame.length ?? '?'}`;
    return button(text, () => onSelect(frame.index), { 'aria-current': String(frame.index === index) });
  });
  if (omitted > 0) frames.push(element('span', { text: `and ${omitted} more` }));
  return section(
    `Message: ${title.join('')}`,
    'Message',
    frames.length > 1 ? element('div', { class: 'frames' }, ...frames) : null,
    ...(bytes.length === 0 ? [] : [bytesPart(bytes, kind !== 'binary'), ...morePart(bytes, all, shown, onMore)])
  );
}

/** The payload of the frame itself, if the message does not say it all. */
function payloadPart({ payload, length, shown, close, message }, { onMore }) {
  if (length === 0) return paragraph('The payload is empty.');
  if (payload === null) {
    return paragraph(`The payload of ${count(length ?? 0, 'byte')} is not known: records do not have it.`, 'hint');
  }
  const bytes = fromBase64(payload.unmasked);
  const parts = [];
  if (close !== null) {
    const reason = close.reason === '' ? '' : `, reason: ${visible(close.reason)}`;
    parts.push(paragraph(`close code ${close.code}${reason} (section 5.5.1)`));
  }
  if (message === null || message.fragments > 1 || message.compressed) {
    parts.push(bytesPart(bytes, !message?.compressed && message?.kind !== 'binary'));
  }
  if (payload.masked !== null) {
    parts.push(paragraph(`Masked by the key ${payload.key}:`), bytesPart(fromBase64(payload.masked), false));
  }
  if (parts.length === 0) return null;
  return section('Payload of this frame', 'Payload', ...parts, ...morePart(bytes, payload.available, shown, onMore));
}

function handshakePart({ handshake }) {
  if (handshake.length === 0) return null;
  const summary = element('summary', { text: 'Handshake of the connection' });
  return element('details', {}, summary, ...handshake.map(textPart));
}

function endsPart({ ends, from }) {
  if (ends === null) return null;
  const line = (direction, role) => {
    const end = ends[direction];
    if (end === null) return [direction, role, 'no record', '', ''];
    const time = end.time === null ? '' : new Date(end.time).toISOString();
    return [direction, end.role, end.error ?? count(end.length, 'byte'), time, visible(end.id)];
  };
  const rows = [line('sent', from), line('received', from === 'client' ? 'server' : 'client')];
  return section('Both ends', 'Both ends', table(['', 'end', 'says', 'time there', 'record'], rows, 'words'));
}

/**
 * Shows a result of lib/detail.js. `actions` are `onMore`, which is called with the number of
 * bytes, or null, `onSelect`, with the index of a frame, and `onCopy`, with the part and the
 * button.
 */
export function showDetail(detail, actions) {
  const place = byId('detail');
  const parts = [
    element('h2', { text: `Frame ${detail.sequence} of the ${detail.from}: ${detail.name}` }),
    paragraph(`${visible(detail.connection.name)}, ${detail.connection.state}`, 'hint'),
    copiesPart(detail, actions),
    verdictPart(detail.verdict),
    messagePart(detail, actions),
    payloadPart(detail, actions),
    headerPart(detail),
    endsPart(detail),
    handshakePart(detail)
  ];
  const isOther = place.dataset.index !== String(detail.index);
  place.replaceChildren(...parts.filter((part) => part !== null));
  place.dataset.index = String(detail.index);
  if (isOther) place.scrollTop = 0;
}

export function clearDetail() {
  const place = byId('detail');
  place.replaceChildren(paragraph('Select a frame to see its bits and bytes.', 'hint'));
  delete place.dataset.index;
}
