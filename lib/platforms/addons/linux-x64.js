'use strict';

require('../../masking/bundled-addon').load = () => require('../../../prebuilds/linux-x64/framemask.node');
