'use strict';

// The timers, and process.nextTick, become fake when ws is loaded.

const ws = require('ws');
const { testFakeTimers } = require('./timers.js');

jest.useFakeTimers();

testFakeTimers(ws);
