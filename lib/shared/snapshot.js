'use strict';

const modules = require('./node-modules');

/**
 * Has random bytes forgotten before a startup snapshot is written: all processes started from it
 * would use the same.
 */
function beforeSnapshot(forget) {
	// Runtimes without snapshots may lack the object.
	const { startupSnapshot } = modules.v8;
	if (startupSnapshot?.isBuildingSnapshot()) startupSnapshot.addSerializeCallback(forget);
}

module.exports = { beforeSnapshot };
