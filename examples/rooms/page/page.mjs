// The page of the chat. What others say is only ever set as textContent.

import { ChatClient } from './client.mjs';

/** Messages that the page shows. */
const SHOWN = 500;

const element = (id) => document.getElementById(id);

const STATUS = {
  connected: () => 'Connected',
  waiting: () => 'The connection is lost. Trying again …',
  refused: (reason) => `The server has refused: ${reason}`
};

function show(from, text, isOwn) {
  const item = document.createElement('li');
  const name = document.createElement('b');
  name.textContent = from;
  item.className = isOwn ? 'own' : '';
  item.append(name, ' ', text); // append() makes text of strings
  const list = element('messages');
  list.append(item);
  if (list.childElementCount > SHOWN) list.firstElementChild.remove();
  item.scrollIntoView({ block: 'nearest' });
}

/** The client of the room that the page shows. */
let client = null;

function enter(name, room) {
  client?.close();
  const entered = new ChatClient({
    urls: [new URL('chat', location.href).href.replace(/^http/, 'ws')],
    name,
    onMessage: (message) => show(message.name, message.text, message.from === entered.from),
    onJoined(_room, complete) {
      if (!complete) show('—', 'Messages are missing here: you were away for too long.', false);
    },
    onStatus(status, reason) {
      if (entered !== client) return; // another room has been entered
      element('status').textContent = STATUS[status](reason);
      element('enter').hidden = status !== 'refused';
    }
  });
  client = entered;
  client.join(room);
  element('messages').replaceChildren();
  element('status').textContent = '';
  element('title').textContent = room;
  element('enter').hidden = true;
  element('chat').hidden = false;
  element('text').focus();
}

element('enter').addEventListener('submit', (event) => {
  event.preventDefault();
  enter(element('name').value, element('room').value);
});

element('say').addEventListener('submit', (event) => {
  event.preventDefault();
  client.say(element('title').textContent, element('text').value);
  element('text').value = '';
});
