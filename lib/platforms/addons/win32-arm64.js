'use strict';

require('../../masking/native').provideAddon(() => require('../../../prebuilds/win32-arm64/framemask.node'));
