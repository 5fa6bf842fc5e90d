// The hooks for `module.register`, which Node.js runs in a thread of its own.

import { redirectUrl } from './redirect.js';

/** Resolves `import 'ws'` to framemask/ws. */
export async function resolve(specifier, context, nextResolve) {
  return redirectUrl(specifier, context, await nextResolve(specifier, context));
}
