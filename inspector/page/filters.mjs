// The search and the filters above the list.

import { byId, element, OPCODES, visible } from './dom.mjs';
import { NUMBERS, noFilters } from './store.mjs';

/** Connections that are offered: the layout of more options takes seconds. */
const OFFERED = 1000;

const FIELDS = ['search', ...Object.keys(NUMBERS)];
const CLASSES = { ...OPCODES, 3: 'others' };

/** ● is open. */
function optionText(index, { name, state }) {
  const isOpen = state === 'open';
  return `${isOpen ? '●' : '○'} ${index + 1}: ${visible(name.slice(0, 80))}${isOpen ? '' : `, ${state}`}`;
}

export class FilterBar {
  /** `onFilters` is called with filters of store.mjs, `onSearch` with a text. */
  constructor({ onFilters, onSearch }) {
    this._boxes = Object.entries(CLASSES).map(([opcode, name]) => {
      const box = element('input', { type: 'checkbox', value: opcode, id: `opcode-${opcode}`, checked: '' });
      byId('opcodes').append(element('label', {}, box, ` ${name}`));
      return box;
    });
    let timer;
    byId('filter-part').addEventListener('input', ({ target }) => {
      if (target.id !== 'search') {
        onFilters(this.read());
        return;
      }
      clearTimeout(timer);
      timer = setTimeout(() => onSearch(this.query), 200);
    });
  }

  get query() {
    return byId('search').value;
  }

  read() {
    const fields = this.chosen();
    const folded = ['min', 'max', 'sender', 'without'].filter((name) => name in fields).length;
    byId('filters').firstElementChild.textContent = folded === 0 ? 'Filters' : `Filters: ${folded}`;
    const filters = noFilters();
    for (const id of Object.keys(NUMBERS)) if (id in fields) filters[id] = Number(fields[id]);
    if ('without' in fields) {
      const opcodes = this._boxes.filter(({ checked }) => checked).map(({ value }) => Number(value));
      // A frame of which only an error is known has no opcode.
      filters.opcodes = new Set(opcodes.includes(3) ? [...opcodes, -1] : opcodes);
    }
    return filters;
  }

  /** @returns {Record<string, string>} the fields that leave something out, by their ids */
  chosen() {
    const fields = FIELDS.map((id) => [id, byId(id).value]).filter(([, value]) => value !== '' && value !== '-1');
    const without = this._boxes.filter(({ checked }) => !checked).map(({ value }) => value);
    return { ...Object.fromEntries(fields), ...(without.length > 0 && { without: without.join(' ') }) };
  }

  /** Sets fields to a result of `chosen`. */
  choose({ without = '', ...fields }) {
    for (const id of FIELDS) if (fields[id] !== undefined) byId(id).value = fields[id];
    const left = without.split(' ');
    for (const box of this._boxes) box.checked = !left.includes(box.value);
  }

  /** Offers connections, or changes their texts; says how many of `count` are not offered. */
  update(rows, count) {
    const { options } = byId('connection');
    for (const [index, connection] of rows.filter(([index]) => index < OFFERED)) {
      options[index + 1] ??= element('option', { value: index });
      options[index + 1].textContent = optionText(index, connection);
    }
    if (count <= OFFERED) return;
    const text = `and ${(count - OFFERED).toLocaleString('en')} more`;
    options[OFFERED + 1] = element('option', { disabled: '', text });
  }

  /** Forgets the connections. */
  reset() {
    byId('connection').replaceChildren(element('option', { value: -1, text: 'all' }));
  }
}
