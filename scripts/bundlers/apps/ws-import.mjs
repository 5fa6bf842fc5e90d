import bufferutil from 'bufferutil';
import { WebSocket, WebSocketServer } from 'ws';
import { echo } from './echo.cjs';

echo({ WebSocket, WebSocketServer }, bufferutil);
