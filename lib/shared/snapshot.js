'use strict';

// Runtimes that have no snapshots may lack the object.
const { startupSnapshot } = require('./node-modules').v8;

/**
 * Has random bytes forgotten before a startup snapshot is written: all processes started from it
 * would use the same.
 */
function beforeSnapshot(forget) {
  if (startupSnapshot?.isBuildingSnapshot()) startupSnapshot.addSerializeCallback(forget);
}

module.exports = { beforeSnapshot };
