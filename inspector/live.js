'use strict';

// Sends the trace records of this process to an inspector that is running:
//
//     FRAMEMASK_INSPECTOR='ws://127.0.0.1:7455/live?token=...' node --require .../live.js app.js
//
// The inspector prints this command with its address. Records have no payload.
// FRAMEMASK_INSPECTOR_PAYLOAD=<bytes> adds the first bytes of each: that is a look at the data of
// the people who use the program.

const { readSettings, startLive } = require('./lib/live');

try {
  startLive(readSettings(process.env));
} catch (error) {
  console.error(`framemask-inspector: ${error.message}`);
}
