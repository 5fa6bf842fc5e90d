'use strict';

// The tracer starts here, unless it has been started by an option.
const { main } = require('./tracers');

main();
