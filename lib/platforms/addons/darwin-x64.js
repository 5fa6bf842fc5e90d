'use strict';

require('../../masking/bundled-addon').load = () => require('../../../prebuilds/darwin-x64/framemask.node');
