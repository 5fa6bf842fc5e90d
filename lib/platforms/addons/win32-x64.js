'use strict';

require('../../masking/bundled-addon').load = () => require('../../../prebuilds/win32-x64/framemask.node');
