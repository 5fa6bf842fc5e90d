// The page: what the inspector sends goes to the store, and is drawn from there.

import { CLOSED, Connection } from './connection.mjs';
import { byId, count, element, formatNumber, save, showText } from './dom.mjs';
import { FilterBar } from './filters.mjs';
import { clearDetail, FIRST_BYTES, showDetail } from './frame-detail.mjs';
import { FrameList } from './frame-list.mjs';
import { readLink, writeLink } from './link.mjs';
import { copy, listenToSources, showError, showProgress } from './sources.mjs';
import { Store } from './store.mjs';
import { Timeline } from './timeline.mjs';

const store = new Store();
const list = new FrameList(store, (index) => {
  askFor(index, FIRST_BYTES);
  timeline.draw();
  keepLink();
});
const timeline = new Timeline(store, list, redraw);
const filters = new FilterBar({
  onFilters(chosen) {
    store.setFilters(chosen);
    redraw();
    keepLink();
  },
  onSearch: search
});
let title = '';
let searching = new AbortController();
let searched = null;
let isSearchDue = false;
let isPaused = false;
/** The selection of the page's link, until its rows are there. */
let linked = readLink();
let linkTimer;

/** @returns {Promise<unknown>} the answer; undefined if none came, for a reason that is shown */
function ask(request, options) {
  return connection.ask(request, options).catch(({ message }) => {
    if (!options?.signal?.aborted) showError(message);
  });
}

async function askFor(index, wanted) {
  const detail = await ask({ type: 'detail', index, count: wanted });
  if (!detail || index !== list.selected) return;
  showDetail(detail, {
    onCopy: (part, button) => copyFrom(index, part, button),
    // Fewer bytes than were asked for are the most that are shown.
    onMore: detail.shown === wanted ? (bytes) => askFor(index, bytes) : null,
    onSelect(other) {
      list.select(other);
      byId('detail').focus();
    }
  });
}

function redraw() {
  list.draw();
  timeline.draw();
  const { rows, connections, held } = store;
  document.body.classList.toggle('empty', rows.length === 0);
  const of = store.count === rows.length ? '' : `${formatNumber(store.count)} of `;
  byId('status').textContent = `${title === '' ? '' : `${title}: `}${of}${count(rows.length, 'frame')}`;
  const open = formatNumber(connections.filter(({ state }) => state === 'open').length);
  const isOpenShown = list.isLive && connections.length > 0;
  showText('open', isOpenShown ? `${open} of ${count(connections.length, 'connection')} open` : '');
  byId('pause').textContent = isPaused ? `Resume${held === 0 ? '' : `, ${formatNumber(held)} new`}` : 'Pause';
}

/** Puts the selection into the page's address, soon: browsers limit how often. */
function keepLink() {
  linked = null;
  clearTimeout(linkTimer);
  linkTimer = setTimeout(() => writeLink(selection()), 300);
}

const selection = () => ({ ...filters.chosen(), frame: list.selected, range: store.filters.range });

/** Selects the frame and the filters of the page's link, once their rows have come. */
function followLink() {
  if (linked === null || linked.frame >= store.rows.length || linked.connection >= store.connections.length) return;
  const { frame, range, ...fields } = linked;
  filters.choose(fields);
  if (range !== null) timeline.showRange(...range);
  store.setFilters(filters.read());
  search(filters.query);
  list.select(frame);
  redraw();
}

async function copyFrom(index, part, button) {
  if (part === 'link') writeLink(selection());
  const text = part === 'link' ? location.href : await ask({ type: 'copy', index, part });
  if (text !== undefined) copy(text, button);
}

function pause(wanted) {
  isPaused = wanted;
  byId('pause').setAttribute('aria-pressed', String(isPaused));
  store.pause(isPaused);
  redraw();
}

function search(query) {
  searching.abort();
  searching = new AbortController();
  keepLink();
  searched = find(query, searching.signal);
}

async function find(query, signal) {
  const found = query === '' ? null : await ask({ type: 'search', query }, { signal });
  if (signal.aborted || found === undefined) return;
  store.setFound(found);
  redraw();
}

/** Looks for what is searched in rows that have come since. */
function searchAgain() {
  if (filters.query === '' || isSearchDue) return;
  isSearchDue = true;
  setTimeout(async () => {
    await searched; // rows that come all the time would end each search before it has found some
    isSearchDue = false;
    search(filters.query);
  }, 500);
}

const connection = new Connection({
  hello({ live }) {
    byId('live').value = live;
  },
  reset(message) {
    if (title !== '') linked = null; // it was of the frames before
    title = message.title;
    byId('sources').open = title === '';
    list.isLive = message.isLive;
    byId('pause').hidden = !message.isLive;
    store.reset();
    list.reset();
    filters.reset();
    timeline.reset();
    store.setFilters(filters.read());
    showText('notes', '');
    clearDetail();
    pause(false);
    searchAgain();
  },
  connections({ rows }) {
    for (const [index, row] of rows) store.connections[index] = row;
    filters.update(rows, store.connections.length);
    redraw();
  },
  notes({ rows }) {
    byId('notes').append(...rows.map(([, text]) => element('li', { text })));
    byId('notes').hidden = false;
  },
  frames({ rows }) {
    const before = store.rows.length;
    store.update(rows);
    if (rows.some(([index]) => index === list.selected)) askFor(list.selected, FIRST_BYTES);
    followLink();
    redraw();
    if (store.rows.length > before) searchAgain();
  },
  progress: showProgress,
  closed() {
    showError(CLOSED);
  }
});

listenToSources(connection, ask);
clearDetail();
byId('export-part').addEventListener('click', async ({ target: { value: format } }) => {
  if (!format) return;
  const name = `${title.replace(/[^\w.-]+/g, '-') || 'frames'}.${format}`;
  const file = await ask({ type: 'export', format }, { body: JSON.stringify(store.passing()) });
  if (file !== undefined) save(file, name);
});
// Pasted into the address bar, a link does not load the page again by itself.
addEventListener('hashchange', () => location.reload());
byId('pause').addEventListener('click', () => pause(!isPaused));

const isTyping = ({ target }) => /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && target.type !== 'checkbox';

/** Keys that do not move in the list. */
const KEYS = {
  Escape: () => list.focus(),
  '/': () => byId('search').focus(),
  n: () => list.select(store.nextBad(list.selected, 1)),
  p: () => list.select(store.nextBad(list.selected, -1)),
  '+': () => timeline.zoom(4),
  '-': () => timeline.zoom(1 / 4),
  0: () => timeline.zoom(0)
};
/** Those of the list. */
const LIST_KEYS = {
  Enter: () => byId('detail').focus(),
  ' ': () => {
    if (list.isLive) pause(!isPaused);
  }
};

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  // Escape would empty a search field, without an event.
  if (isTyping(event) && event.key !== 'Escape') return;
  const act = KEYS[event.key] ?? (event.target === byId('list') ? LIST_KEYS[event.key] : undefined);
  if (act === undefined) return;
  event.preventDefault();
  act();
});
