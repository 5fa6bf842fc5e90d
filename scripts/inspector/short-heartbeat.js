'use strict';

// Preloaded into examples/rooms/server.js: a heartbeat every two seconds, so that a short conversation has
// Pings. A page that does not answer until the next one is dropped; on a busy machine one second is too short.

require('../../examples/rooms/chat').LIMITS.heartbeat = 2000;
