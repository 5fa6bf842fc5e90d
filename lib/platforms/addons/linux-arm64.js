'use strict';

require('../../masking/bundled-addon').load = () => require('../../../prebuilds/linux-arm64/framemask.node');
