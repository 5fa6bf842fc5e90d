// The page: what the inspector sends goes to the store, and is drawn from there.

import { CLOSED, Connection } from './connection.mjs';
import { byId, element } from './dom.mjs';
import { FilterBar } from './filters.mjs';
import { clearDetail, FIRST_BYTES, showDetail } from './frame-detail.mjs';
import { FrameList } from './frame-list.mjs';
import { listenToSources } from './sources.mjs';
import { Store } from './store.mjs';
import { Timeline } from './timeline.mjs';

const store = new Store();
const list = new FrameList(store, (index) => {
  askFor(index, FIRST_BYTES);
  timeline.draw();
});
const timeline = new Timeline(store, list);
const filters = new FilterBar({
  onFilters(chosen) {
    store.setFilters(chosen);
    redraw();
  },
  onSearch: search
});
let title = '';
let searches = 0;
let isSearchDue = false;

function askFor(index, count) {
  connection.send({ type: 'detail', index, count });
}

function redraw() {
  list.draw();
  timeline.draw();
  const { rows, shown } = store;
  const of = shown.length === rows.length ? '' : `${shown.length.toLocaleString('en')} of `;
  byId('status').textContent = `${title === '' ? '' : `${title}: `}${of}${rows.length.toLocaleString('en')} frames`;
}

function search(query) {
  searches++;
  if (query === '') {
    store.setFound(null);
    redraw();
  } else {
    connection.send({ type: 'search', query, number: searches });
  }
}

/** Looks for what is searched in rows that have come since. */
function searchAgain() {
  if (filters.query === '' || isSearchDue) return;
  isSearchDue = true;
  setTimeout(() => {
    isSearchDue = false;
    search(filters.query);
  }, 500);
}

function showError(text) {
  byId('error').textContent = text;
  byId('error').hidden = text === '';
}

const connection = new Connection({
  hello({ live }) {
    byId('live').value = live;
  },
  reset(message) {
    title = message.title;
    store.reset();
    list.reset();
    filters.reset();
    store.setFilters(filters.read());
    byId('notes').replaceChildren();
    byId('notes').hidden = true;
    clearDetail();
    redraw();
    searchAgain();
  },
  connections({ from, connections }) {
    store.connections.push(...connections);
    filters.addConnections(from, connections);
    redraw();
  },
  notes({ notes }) {
    byId('notes').append(...notes.map((text) => element('li', { text })));
    byId('notes').hidden = false;
  },
  frames({ rows }) {
    store.append(rows);
    redraw();
    searchAgain();
  },
  changed({ rows }) {
    store.change(rows);
    if (rows.some(([index]) => index === list.selected)) askFor(list.selected, FIRST_BYTES);
    redraw();
  },
  found({ number, found }) {
    if (number !== searches || filters.query === '') return;
    store.setFound(found);
    redraw();
  },
  detail({ detail }) {
    if (detail === null || detail.index !== list.selected) return;
    showDetail(detail, {
      onMore: (bytes) => askFor(detail.index, bytes),
      onSelect(index) {
        list.select(index);
        byId('detail').focus();
      }
    });
  },
  closed() {
    showError(CLOSED);
  }
});

listenToSources(connection, showError);
clearDetail();

const isTyping = ({ target }) => /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && target.type !== 'checkbox';

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === 'Escape') list.focus();
  else if (isTyping(event)) return;
  else if (event.key === '/') {
    event.preventDefault();
    byId('search').focus();
  } else if (event.key === 'n' || event.key === 'p') {
    const index = store.nextBad(list.selected, event.key === 'n' ? 1 : -1);
    if (index !== -1) list.select(index);
  } else if (event.key === 'Enter' && event.target === byId('list')) {
    byId('detail').focus();
  }
});
