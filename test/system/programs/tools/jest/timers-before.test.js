'use strict';

// ws is loaded when the timers, and process.nextTick, are fake already.

const { testFakeTimers } = require('./timers.js');

jest.useFakeTimers();

testFakeTimers(require('ws'));
