import assert from 'node:assert';
import framemask, {
  Decoder,
  Encoder,
  formatFrameId,
  frameId,
  kernel,
  mask,
  nativeError,
  parseFrameId,
  unmask
} from 'framemask';
import { check } from './check.cjs';

const named = { Decoder, Encoder, formatFrameId, frameId, kernel, mask, nativeError, parseFrameId, unmask };
for (const [name, value] of Object.entries(named)) assert.strictEqual(value, framemask[name], name);
check(named);
