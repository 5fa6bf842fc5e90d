'use strict';

require('../../masking/bundled-addon').load = () => require('../../../prebuilds/linux-loong64/framemask.node');
