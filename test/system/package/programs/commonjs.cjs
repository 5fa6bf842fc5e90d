'use strict';

const framemask = require('framemask');
const { check } = require('./check.cjs');

check(framemask);
