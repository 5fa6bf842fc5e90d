import { expect, test, vi } from 'vitest';
import * as ws from 'ws';
import { exchange, note, openedOf } from './exchange.cjs';

vi.mock('ws');

test('classes are mocks', async () => {
  const client = new ws.WebSocket('ws://127.0.0.1:1');
  client.send('nothing is sent');
  expect(client.send.mock.calls).toEqual([['nothing is sent']]);
  const actual = await vi.importActual('ws');
  const functions = Object.keys(actual).filter((name) => typeof actual[name] === 'function');
  expect(functions).toEqual(expect.arrayContaining(['WebSocket', 'WebSocketServer', 'Receiver', 'Sender']));
  const mocks = Object.entries(ws).flatMap(([name, value]) => (vi.isMockFunction(value) ? [name] : []));
  const received = await exchange(actual);
  note({ lacking: functions.filter((name) => !mocks.includes(name)), received }, openedOf(actual.default));
});
