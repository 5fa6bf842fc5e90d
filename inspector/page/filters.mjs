// The search and the filters above the list.

import { byId, element, OPCODES, visible } from './dom.mjs';
import { noFilters } from './store.mjs';

/** Connections that are offered: the layout of more options takes seconds. */
const OFFERED = 1000;

const FIELDS = ['search', 'connection', 'verdict', 'sender', 'min', 'max'];
const CLASSES = { ...OPCODES, 3: 'others' };

/** A number that is typed or chosen; `otherwise` if there is none. */
function numberOf(id, otherwise) {
  const { value } = byId(id);
  return value === '' ? otherwise : Number(value);
}

/** ● is open. */
function optionText(index, { name, state }) {
  const isOpen = state === 'open';
  return `${isOpen ? '●' : '○'} ${index + 1}: ${visible(name.slice(0, 80))}${isOpen ? '' : `, ${state}`}`;
}

export class FilterBar {
  /**
   * @param {{ onFilters: (filters: import('./store.mjs').Filters) => void,
   *   onSearch: (query: string) => void }} actions
   */
  constructor({ onFilters, onSearch }) {
    this._boxes = Object.entries(CLASSES).map(([opcode, name]) => {
      const box = element('input', { type: 'checkbox', value: opcode, id: `opcode-${opcode}`, checked: '' });
      byId('opcodes').append(element('label', {}, box, ` ${name}`));
      return box;
    });
    const changed = () => onFilters(this.read());
    byId('opcodes').addEventListener('change', changed);
    for (const id of ['min', 'max', 'connection', 'sender', 'verdict']) byId(id).addEventListener('input', changed);
    let timer;
    byId('search').addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(() => onSearch(byId('search').value), 200);
    });
  }

  get query() {
    return byId('search').value;
  }

  /** @returns {import('./store.mjs').Filters} */
  read() {
    const { min = 0, max = 0, sender = 0, without = 0 } = this.chosen();
    const folded = [min, max, sender, without].filter((value) => value !== 0).length;
    byId('filters').firstElementChild.textContent = folded === 0 ? 'Filters' : `Filters: ${folded}`;
    const chosen = this._boxes.filter(({ checked }) => checked).map(({ value }) => Number(value));
    const all = chosen.length === this._boxes.length;
    return {
      ...noFilters(),
      // A frame of which only an error is known has no opcode.
      opcodes: all ? null : new Set(chosen.includes(3) ? [...chosen, -1] : chosen),
      min: numberOf('min', 0),
      max: numberOf('max', Infinity),
      connection: numberOf('connection', -1),
      sender: numberOf('sender', -1),
      verdict: numberOf('verdict', -1)
    };
  }

  /** @returns {Record<string, string>} the fields that leave something out, by their ids */
  chosen() {
    const left = this._boxes.filter(({ checked }) => !checked).map(({ value }) => value);
    const fields = Object.fromEntries(FIELDS.map((id) => [id, byId(id).value]));
    for (const id of FIELDS) if (fields[id] === '' || fields[id] === '-1') delete fields[id];
    return left.length === 0 ? fields : { ...fields, without: left.join(' ') };
  }

  /** Sets fields to a result of `chosen`. */
  choose({ without = '', ...fields }) {
    for (const id of FIELDS) if (fields[id] !== undefined) byId(id).value = fields[id];
    const left = without.split(' ');
    for (const box of this._boxes) box.checked = !left.includes(box.value);
  }

  /** Offers further connections, and says how many are not offered. */
  addConnections(from, connections) {
    for (const [i, connection] of connections.slice(0, Math.max(OFFERED - from, 0)).entries()) {
      byId('connection').append(element('option', { value: from + i, text: optionText(from + i, connection) }));
    }
    const more = from + connections.length - OFFERED;
    if (more <= 0) return;
    byId('more-connections')?.remove();
    const text = `and ${more.toLocaleString('en')} more`;
    byId('connection').append(element('option', { id: 'more-connections', disabled: '', text }));
  }

  changeConnection(index, connection) {
    const option = byId('connection').options[index + 1];
    if (index < OFFERED && option !== undefined) option.textContent = optionText(index, connection);
  }

  /** Forgets the connections. */
  reset() {
    byId('connection').replaceChildren(element('option', { value: -1, text: 'all' }));
  }
}
