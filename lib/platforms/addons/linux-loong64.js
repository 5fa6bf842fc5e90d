'use strict';

require('../../masking/native').provideAddon(() => require('../../../prebuilds/linux-loong64/framemask.node'));
