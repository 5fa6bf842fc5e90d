// The hooks for `module.register`, which Node.js runs in a thread of its own.

import copies from './copies.js';
import { redirectUrl } from './redirect.js';

/** @param {{ port: object }} [data] a MessagePort: the way to the program's thread */
export function initialize(data) {
	if (data !== undefined) copies.sendTo(data.port);
}

/** Resolves `import 'ws'` to framemask/ws. */
export async function resolve(specifier, context, nextResolve) {
	return redirectUrl(specifier, context, await nextResolve(specifier, context));
}
