'use strict';

require('../../masking/bundled-addon').load = () => require('../../../prebuilds/linux-arm/framemask.armv7.node');
