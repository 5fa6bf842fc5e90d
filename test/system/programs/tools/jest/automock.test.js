'use strict';

jest.mock('ws');

const ws = require('ws');
const { exchange, note, openedOf } = require('./exchange.cjs');

test('classes are mocks', async () => {
  const client = new ws.WebSocket('ws://127.0.0.1:1');
  const server = new ws.WebSocketServer({ port: 0 });
  client.send('nothing is sent');
  expect(client.send.mock.calls).toEqual([['nothing is sent']]);
  const actual = jest.requireActual('ws');
  // Those that ws has, too.
  const names = ['WebSocket', 'WebSocketServer', 'Server', 'Receiver', 'Sender', 'createWebSocketStream'];
  const mocked = names.filter((name) => jest.isMockFunction(ws[name]));
  const methods = [client.close, client.ping, client.on, server.close, server.handleUpgrade].map(jest.isMockFunction);
  const functions = Object.keys(actual).filter((name) => typeof actual[name] === 'function');
  const lacking = functions.filter((name) => !jest.isMockFunction(ws[name]));
  const received = await exchange(actual);
  note({ mocked, methods, lacking, received }, openedOf(actual));
});
