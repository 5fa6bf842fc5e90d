'use strict';

/**
 * Loads the addon of an entry for one platform, such as `framemask/prebuilds/linux-x64`. The entry
 * sets it before it loads any other module of the package; in other programs it is null.
 *
 * @type {(() => object) | null}
 */
exports.load = null;
