'use strict';

/**
 * How an entry for one platform (`framemask/prebuilds/linux-x64`) hands its addon over: it sets `load` before anything
 * else of the package is loaded. A file of its own, because the rest of lib/ is published as one.
 *
 * @type {(() => object) | null}
 */
exports.load = null;
