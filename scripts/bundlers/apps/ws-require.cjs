'use strict';

const { echo } = require('./echo.cjs');

echo(require('ws'), require('bufferutil'));
