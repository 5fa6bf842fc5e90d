'use strict';

/**
 * The environment of a process that measures memory or makes millions of calls. Under tap each
 * process collects coverage, which makes such a process take twice as long; the functions that it
 * calls are covered by other tests.
 */
const WITHOUT_COVERAGE = { ...process.env, _TAPJS_PROCESSINFO_COVERAGE_: '0' };

module.exports = { WITHOUT_COVERAGE };
