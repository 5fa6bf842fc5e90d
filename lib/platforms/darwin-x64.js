'use strict';

require('./addons/darwin-x64');
module.exports = require('../../index.js');
