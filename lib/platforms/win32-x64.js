'use strict';

require('./addons/win32-x64');
module.exports = require('../../index.js');
