'use strict';

require('../../masking/native').provideAddon(() => require('../../../prebuilds/linux-arm/framemask.armv7.node'));
