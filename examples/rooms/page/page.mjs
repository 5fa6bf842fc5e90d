// The page of the chat. What others say is only ever set as text.

import { ChatClient } from './client.mjs';

/** Messages that the page shows. */
const SHOWN = 500;
const MISSING = 'Messages are missing here: you were away for too long.';

const byId = (id) => document.getElementById(id);
const list = byId('messages');
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

function element(tag, attributes, ...children) {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...children); // append() makes text of strings
  return made;
}

function add(item) {
  list.append(item);
  if (list.childElementCount > SHOWN) list.firstElementChild.remove();
}

/** @returns {string} the token after the address, encoded or not */
function readToken() {
  const text = location.hash.slice(1);
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // it has a `%` of its own
  }
}

/** One conversation: the client of a room, and its messages on the page. */
class Room {
  constructor(name, room) {
    const url = new URL('chat', location.href.replace(/^http/, 'ws'));
    const token = readToken();
    url.hash = '';
    if (token !== '') url.searchParams.set('token', token);
    this.room = room;
    /** Number → the item of a message of ours that the server has not acknowledged. */
    this._unsent = new Map();
    this.client = new ChatClient({
      urls: [url.href],
      name,
      onMessage: (message) => this._show(message),
      onJoined: (_room, complete) => complete || add(element('li', { className: 'note' }, MISSING)),
      onSent: (n) => this._unsent.get(n)?.classList.remove('unsent'),
      onMembers: (_room, count, members) => this._showMembers(count, members),
      onStatus: (status, reason) => this._showStatus(status, reason)
    });
    this.client.join(room);
  }

  say(text) {
    const n = this.client.say(this.room, text);
    const item = this._append({ from: 'us', name: this.client.name, time: Date.now(), text, isOwn: true });
    item.classList.add('unsent');
    this._unsent.set(n, item);
  }

  /** Own messages come back, too: then they move to their place in the common order. */
  _show({ id, from, name, n, text }) {
    const isOwn = from === this.client.from;
    if (isOwn) {
      this._unsent.get(n)?.remove();
      this._unsent.delete(n);
    }
    this._append({ from: isOwn ? 'us' : from, name, time: Number(id.split('-')[0]), text, isOwn });
    for (const waiting of this._unsent.values()) list.append(waiting);
  }

  /** Adds a message after the last one, below its name and time if author and minute are equal. */
  _append({ from, name, time, text, isOwn }) {
    const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
    const key = `${from} ${Math.floor(time / 60_000)}`;
    const item = element('li', { className: isOwn ? 'own' : '' });
    item.dataset.group = key;
    item.dataset.name = name;
    if (list.lastElementChild?.dataset.group !== key) {
      const stamp = element('time', { dateTime: new Date(time).toISOString() }, clock.format(time));
      item.append(element('header', {}, element('b', {}, name), ' ', stamp));
    }
    item.append(element('p', {}, text));
    add(item);
    if (isAtEnd || isOwn) list.scrollTop = list.scrollHeight;
    return item;
  }

  _showMembers(count, members) {
    byId('count').textContent = count;
    const names = members.map(({ name }) => element('li', {}, name));
    if (count > members.length) names.push(element('li', {}, `and ${count - members.length} more`));
    byId('names').replaceChildren(...names);
  }

  _showStatus(status, reason) {
    if (this !== current) return; // another room has been entered
    byId('status').textContent = status === 'waiting' ? 'Connecting again …' : 'Connected';
    byId('chat').classList.toggle('waiting', status === 'waiting');
    if (status === 'refused') showForm(reason === '' ? 'The server has refused.' : `The server has refused: ${reason}`);
  }
}

/** @type {Room | null} the room that the page shows */
let current = null;

function showForm(text) {
  current?.client.close();
  current = null;
  list.replaceChildren();
  // The members of the next room come half a second after it is entered.
  byId('count').textContent = 1;
  byId('names').replaceChildren();
  byId('refused').textContent = text;
  byId('refused').hidden = text === '';
  byId('enter').hidden = false;
  byId('chat').hidden = true;
}

byId('enter').addEventListener('submit', (event) => {
  event.preventDefault();
  showForm('');
  const room = byId('room').value;
  current = new Room(byId('name').value, room);
  byId('title').textContent = room;
  byId('status').textContent = 'Connecting …';
  byId('enter').hidden = true;
  byId('chat').hidden = false;
  byId('text').focus();
});

byId('say').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = byId('text').value.trim();
  if (text !== '') current.say(text);
  byId('text').value = '';
});

byId('text').addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  byId('say').requestSubmit();
});

byId('leave').addEventListener('click', () => showForm(''));

byId('name').focus();
