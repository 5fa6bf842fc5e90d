'use strict';

// What programs that were bundled or installed check. It requires nothing: a bundle that is an ES
// module can't.

function expect(condition, what) {
  if (!condition) throw new Error(`wrong: ${what}`);
}

/** Masks, unmasks, sends messages from an Encoder to a Decoder, and prints the kernel as JSON. */
exports.check = ({ Decoder, Encoder, kernel, mask, nativeError, unmask }) => {
  const key = Buffer.from([0x12, 0x34, 0x56, 0x78]);
  const source = Buffer.from('long enough for the addon, which leaves short payloads to JavaScript. '.repeat(20));
  const output = Buffer.alloc(source.length);
  mask(source, key, output, 0, source.length);
  const masked = source.map((byte, index) => byte ^ key[index % 4]);
  expect(output.equals(masked), 'the output of mask');
  unmask(output, key);
  expect(output.equals(source), 'the output of unmask');

  const messages = [];
  const encoder = new Encoder({ role: 'client' });
  const decoder = new Decoder({ role: 'server', onMessage: (data) => messages.push(data) });
  encoder.text('gr\u00fc\u00dfe');
  encoder.binary(source);
  for (const chunk of encoder.take()) decoder.write(chunk);
  expect(
    messages.length === 2 && messages[0] === 'gr\u00fc\u00dfe' && source.equals(messages[1]),
    'the decoded messages'
  );
  console.log(JSON.stringify({ kernel, nativeError: nativeError === null ? null : nativeError.message }));
};
