import { test } from 'vitest';
import * as all from 'ws';
import ws, { WebSocket, WebSocketServer } from 'ws';
import { exchange, note, openedOf } from './exchange.cjs';

test('messages arrive', async () => {
  const lacking = [all, ws].flatMap((exported) => Object.entries(exported).filter(([, value]) => value === undefined));
  const received = await exchange({ WebSocket, WebSocketServer });
  note({ lacking, received }, openedOf(ws));
});
