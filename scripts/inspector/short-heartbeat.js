'use strict';

// Preloaded into examples/rooms/server.js: a heartbeat each second, so that a short conversation has Pings.

require('../../examples/rooms/chat').LIMITS.heartbeat = 1000;
