'use strict';

require('../../masking/bundled-addon').load = () => require('../../../prebuilds/linux-arm/framemask.armv6.node');
