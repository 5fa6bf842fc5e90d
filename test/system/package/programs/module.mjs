import assert from 'node:assert';
import framemask, * as named from 'framemask';
import { check } from './check.cjs';

for (const [name, value] of Object.entries(framemask)) assert.strictEqual(named[name], value, name);
check(named);
