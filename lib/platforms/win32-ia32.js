'use strict';

require('./addons/win32-ia32');
module.exports = require('../../index.js');
