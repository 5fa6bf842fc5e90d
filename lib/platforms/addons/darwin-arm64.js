'use strict';

require('../../masking/bundled-addon').load = () => require('../../../prebuilds/darwin-arm64/framemask.node');
