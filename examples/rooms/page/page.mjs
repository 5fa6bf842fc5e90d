// The page of the chat. What others say is only ever set as textContent.

import { ChatClient } from './client.mjs';

/** Messages that the page shows. */
const SHOWN = 500;

const element = (id) => document.getElementById(id);

const STATUS = {
  connected: () => 'Connected',
  waiting: () => 'The connection is lost. Trying again …',
  refused: (reason) => `The server has refused: ${reason}`,
  closed: () => 'Closed'
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

function enter(name, room) {
  const client = new ChatClient({
    urls: [new URL('chat', location.href).href.replace(/^http/, 'ws')],
    name,
    onMessage: (message) => show(message.name, message.text, message.from === client.from),
    onJoined(_room, complete) {
      if (!complete) show('—', 'Messages are missing here: you were away for too long.', false);
    },
    onStatus(status, reason) {
      element('status').textContent = STATUS[status](reason);
    }
  });
  client.join(room);
  element('title').textContent = room;
  element('enter').hidden = true;
  element('chat').hidden = false;
  element('say').addEventListener('submit', (event) => {
    event.preventDefault();
    client.say(room, element('text').value);
    element('text').value = '';
  });
  element('text').focus();
}

element('enter').addEventListener('submit', (event) => {
  event.preventDefault();
  enter(element('name').value, element('room').value);
});
