'use strict';

// What the RFCs say of each error of a Decoder, and of the fields of a frame.

const OPCODES = { 0: 'continuation', 1: 'text', 2: 'binary', 8: 'close', 9: 'ping', 10: 'pong' };

const FRAGMENTED =
  'A fragmented message consists of a single frame with the FIN bit clear and an opcode other than 0, followed by ' +
  'zero or more frames with the FIN bit clear and the opcode set to 0, and terminated by a single frame with the ' +
  'FIN bit set and an opcode of 0.';
const CONTROL = 'All control frames MUST have a payload length of 125 bytes or less and MUST NOT be fragmented.';
const CLOSE_BODY =
  'If there is a body, the first two bytes of the body MUST be a 2-byte unsigned integer (in network byte order) ' +
  'representing a status code with value /code/ defined in Section 7.4.';
const LIMITS =
  'Implementations that have implementation- and/or platform-specific limitations regarding the frame size or total ' +
  'message size after reassembly from multiple frames MUST protect themselves against exceeding those limits.';

/** By error code, without FRAMEMASK_ERR_: the RFC, the section, and its sentence. */
const RULES = {
  RESERVED_BITS: rule(
    '5.2',
    'MUST be 0 unless an extension is negotiated that defines meanings for non-zero values. If a nonzero value is ' +
      'received and none of the negotiated extensions defines the meaning of such a nonzero value, the receiving ' +
      'endpoint MUST _Fail the WebSocket Connection_.'
  ),
  OPCODE: rule('5.2', 'If an unknown opcode is received, the receiving endpoint MUST _Fail the WebSocket Connection_.'),
  LENGTH: rule(
    '5.2',
    'If 127, the following 8 bytes interpreted as a 64-bit unsigned integer (the most significant bit MUST be 0) are ' +
      'the payload length.'
  ),
  LENGTH_NOT_MINIMAL: rule(
    '5.2',
    'Note that in all cases, the minimal number of bytes MUST be used to encode the length, for example, the length ' +
      "of a 124-byte-long string can't be encoded as the sequence 126, 0, 124."
  ),
  MASK_MISSING: rule('5.1', 'The server MUST close the connection upon receiving a frame that is not masked.'),
  MASK_UNWANTED: rule('5.1', 'A client MUST close a connection if it detects a masked frame.'),
  CONTINUATION: rule('5.4', FRAGMENTED),
  INTERLEAVED: rule(
    '5.4',
    'The fragments of one message MUST NOT be interleaved between the fragments of another message unless an ' +
      'extension has been negotiated that can interpret the interleaving.'
  ),
  CONTROL_FRAGMENTED: rule('5.5', CONTROL),
  CONTROL_LENGTH: rule('5.5', CONTROL),
  CLOSE_LENGTH: rule('5.5.1', CLOSE_BODY),
  UTF8: rule(
    '8.1',
    'When an endpoint is to interpret a byte stream as UTF-8 but finds that the byte stream is not, in fact, a valid ' +
      'UTF-8 stream, that endpoint MUST _Fail the WebSocket Connection_.'
  ),
  DEFLATE: { rfc: 7692, section: '7.2.2', sentence: 'Decompress the resulting data using DEFLATE.' },
  TOO_MANY_FRAGMENTS: rule('10.4', LIMITS),
  MESSAGE_TOO_BIG: rule('10.4', LIMITS)
};

function rule(section, sentence) {
  return { rfc: 6455, section, sentence };
}

/** @returns what the RFC says of a close code that may not be sent */
function ruleOfCloseCode(code) {
  if (code < 1000) return rule('7.4.2', 'Status codes in the range 0-999 are not used.');
  if (code === 1004) return rule('7.4.1', 'Reserved. The specific meaning might be defined in the future.');
  if (code === 1005 || code === 1006 || code === 1015) {
    return rule(
      '7.4.1',
      `${code} is a reserved value and MUST NOT be set as a status code in a Close control frame by an endpoint.`
    );
  }
  if (code < 3000) {
    return rule(
      '7.4.2',
      'Status codes in the range 1000-2999 are reserved for definition by this protocol, its future revisions, and ' +
        'extensions specified in a permanent and readily available public specification.'
    );
  }
  return rule('5.5.1', CLOSE_BODY); // section 7.4 ends with 4999
}

/**
 * @param {{ code: string, receivedCode?: number | null }} error a FrameError, or one from JSON
 * @returns {{ rfc: number, section: string, sentence: string } | null} null if no RFC is concerned
 */
function ruleOf({ code, receivedCode }) {
  const name = String(code).replace(/^FRAMEMASK_ERR_/, '');
  if (name === 'CLOSE_CODE') return ruleOfCloseCode(receivedCode ?? 0);
  return Object.hasOwn(RULES, name) ? RULES[name] : null;
}

/** @returns {string} such as `text`, or `reserved 3`; `unknown` for null */
const opcodeName = (opcode) => (opcode === null ? 'unknown' : (OPCODES[opcode] ?? `reserved ${opcode}`));

module.exports = { RULES, opcodeName, rule, ruleOf };
