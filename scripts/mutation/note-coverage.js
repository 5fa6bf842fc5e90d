'use strict';

// Loaded before a test: writes the ids of the mutants that the test runs to the file COVERAGE_FILE names.

const fs = require('node:fs');

process.on('exit', () => {
  const { static: ran = {} } = globalThis.__stryker__?.mutantCoverage ?? {};
  fs.writeFileSync(process.env.COVERAGE_FILE, JSON.stringify(Object.keys(ran)));
});
