'use strict';

require('../../masking/native').provideAddon(() => require('../../../prebuilds/darwin-x64/framemask.node'));
