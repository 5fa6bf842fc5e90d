'use strict';

require('../../masking/bundled-addon').load = () => require('../../../prebuilds/win32-arm64/framemask.node');
