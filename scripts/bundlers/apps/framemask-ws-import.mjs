import * as framemask from 'framemask';
import { WebSocket, WebSocketServer } from 'framemask/ws';
import { echo } from './echo.cjs';

echo({ WebSocket, WebSocketServer }, framemask);
