'use strict';

require('../../masking/native').provideAddon(() => require('../../../prebuilds/linux-x64/framemask.node'));
