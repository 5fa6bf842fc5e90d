'use strict';

// framemask: the package, or the checkout that this folder is in, which needs no install here.

const fs = require('node:fs');
const path = require('node:path');

const checkout = path.join(__dirname, '../../index.js');

module.exports = fs.existsSync(checkout) ? require(checkout) : require('framemask');
