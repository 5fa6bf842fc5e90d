'use strict';

require('./addons/win32-arm64');
module.exports = require('../../index.js');
