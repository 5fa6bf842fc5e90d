'use strict';

const { echo } = require('./echo.cjs');

echo(require('framemask/ws'), require('framemask'));
