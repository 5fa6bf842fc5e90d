import { Decoder, Encoder, kernel, mask, nativeError, unmask } from 'framemask';
import { check } from './check.cjs';

check({ Decoder, Encoder, kernel, mask, nativeError, unmask });
