'use strict';

/**
 * One small change of src/.
 *
 * @typedef {object} SourceMutant
 * @property {string} name
 * @property {string} file
 * @property {string} original text that occurs once in the file
 * @property {string} replacement
 * @property {string} reason what the change breaks
 * @property {string} [kernel] the kernel that a machine must run for a test to notice
 * @property {string} [equivalent] why no test can notice
 */

/** @type {SourceMutant[]} */
const MUTANTS = [];

/**
 * @param {string} file
 * @param {Omit<SourceMutant, 'file'>[]} mutants
 */
function add(file, mutants) {
  for (const mutant of mutants) MUTANTS.push({ file, ...mutant });
}

add('src/addon.cc', [
  {
    name: 'contains-start',
    original: 'return start <= bytes.length && length <= bytes.length - start;',
    replacement: 'return length <= bytes.length - start;',
    reason: 'a range that starts behind its array: the subtraction wraps'
  },
  {
    name: 'contains-sum',
    original: 'return start <= bytes.length && length <= bytes.length - start;',
    replacement: 'return start <= bytes.length && length <= bytes.length;',
    reason: 'a range that starts in its array and ends behind it'
  },
  {
    name: 'contains-one-more',
    original: 'length <= bytes.length - start;',
    replacement: 'length <= bytes.length - start + 1;',
    reason: 'a range that ends one byte behind its array'
  },
  {
    name: 'contains-one-less',
    original: 'length <= bytes.length - start;',
    replacement: 'length < bytes.length - start;',
    reason: 'a range that ends with its array is refused'
  },
  {
    name: 'mask-source-range',
    original: 'if (!Contains(source, start, length) || !Contains(output, offset, length)) {',
    replacement: 'if (!Contains(output, offset, length)) {',
    reason: 'mask reads behind the source'
  },
  {
    name: 'mask-output-range',
    original: 'if (!Contains(source, start, length) || !Contains(output, offset, length)) {',
    replacement: 'if (!Contains(source, start, length) || !Contains(output, start, length)) {',
    reason: 'mask writes behind the output'
  },
  {
    name: 'size-fraction',
    original: 'return static_cast<double>(*size) == number;',
    replacement: 'return true;',
    reason: 'fractions are cut off'
  },
  {
    name: 'size-too-large',
    original: 'number >= 0 && number <= kMaxSafeInteger && number <= static_cast<double>(SIZE_MAX)',
    replacement: 'number >= 0 && number <= static_cast<double>(SIZE_MAX)',
    reason: 'numbers from 2^53 on are accepted, and 2^64, which no size_t can hold, is converted'
  },
  {
    name: 'key-too-large',
    original: 'if (!(number >= 0 && number <= 4294967295.0)) return false;',
    replacement: 'if (!(number >= 0)) return false;',
    reason: 'a key of more than 32 bits is accepted'
  },
  {
    name: 'key-negative',
    original: 'if (!(number >= 0 && number <= 4294967295.0)) return false;',
    replacement: 'if (!(number <= 4294967295.0)) return false;',
    reason: 'a negative key is accepted'
  },
  {
    name: 'key-nan',
    original: 'if (!(number >= 0 && number <= 4294967295.0)) return false;',
    replacement: 'if (number < 0 || number > 4294967295.0) return false;',
    reason: 'a key that is not a number is accepted'
  },
  {
    name: 'missing-arguments',
    original: '&data) != napi_ok || count < kCount) return false;',
    replacement: '&data) != napi_ok) return false;',
    reason: 'calls with too few arguments get past their first check',
    equivalent: 'Node-API fills missing arguments with undefined, which is no typed array'
  },
  {
    name: 'always-scalar',
    original: 'binding->kernel = kKernels[kKernelCount == 1 ? 0 : bits].mask;',
    replacement: 'binding->kernel = kKernels[0].mask;',
    reason: 'each binding gets the slowest kernel',
    equivalent: 'every kernel writes the same bytes, so only npm run bench and npm run test:coverage-src notice'
  },
  {
    name: 'mask-stale-ascii',
    original: 'length == 0 ? 0 : Mask(binding.kernel',
    replacement: 'length == 0 ? binding.registers[kNonAscii] : Mask(binding.kernel',
    reason: 'mask of no bytes reports what the call before it found'
  },
  {
    name: 'unmask-stale-ascii',
    original: 'in.length == 0 ? 0 : in.binding.kernel',
    replacement: 'in.length == 0 ? in.binding.registers[kNonAscii] : in.binding.kernel',
    reason: 'unmask of no bytes reports what the call before it found'
  },
  {
    name: 'text-not-ascii',
    original: 'in.length, in.key) != 0) return nullptr;',
    replacement: 'in.length, in.key) > 0x80) return nullptr;',
    reason: 'unmaskText returns UTF-8 as if it were Latin-1'
  },
  {
    name: 'scan-start',
    original: 'if (start > chunk.length) return Throw',
    replacement: 'if (start > chunk.length + 1) return Throw',
    reason: 'a scan that starts behind the chunk: the bytes that are left wrap'
  },
  {
    name: 'scan-start-end',
    original: 'if (start > chunk.length) return Throw',
    replacement: 'if (start >= chunk.length) return Throw',
    reason: 'a scan that starts at the end of the chunk is refused'
  },
  {
    name: 'scan-table-type',
    original: 'napi_ok ||\n      table_type != napi_uint32_array) {',
    replacement: 'napi_ok) {',
    reason: 'a frame table of narrower elements: entries are written behind it'
  },
  {
    name: 'scan-capacity',
    original: 'table_length / kTableStride));',
    replacement: '(table_length + kTableStride - 1) / kTableStride));',
    reason: 'an entry that does not fit the frame table is written'
  },
  {
    name: 'registers-type',
    original: 'type == napi_float64_array && length >= kRegisterCount &&',
    replacement: 'length >= kRegisterCount &&',
    reason: 'registers of narrower elements: the addon writes behind them'
  },
  {
    name: 'registers-length',
    original: 'length >= kRegisterCount &&',
    replacement: 'length + 1 >= kRegisterCount &&',
    reason: 'one register too few: the addon writes behind them'
  },
  {
    name: 'registers-transferable',
    original: 'napi_is_arraybuffer(env, buffer, &transferable) == napi_ok && !transferable &&',
    replacement: 'napi_is_arraybuffer(env, buffer, &transferable) == napi_ok &&',
    reason: 'registers that can be transferred away from under the addon'
  },
  {
    name: 'registers-reference',
    original: 'napi_create_reference(env, registers, 1, &reference) == napi_ok;',
    replacement: 'napi_create_reference(env, registers, 0, &reference) == napi_ok;',
    reason: 'registers may be freed while functions still point to them'
  },
  {
    name: 'kernel-name-prefix',
    original: 'return *left == *right;',
    replacement: "return *left == *right || *left == '\\0';",
    reason: 'bind takes names that begin with the name of a kernel'
  }
]);

add('src/dispatch.cc', [
  {
    name: 'avx2-missing',
    original: 'constexpr uint32_t kAvx2 = 1u << 5;',
    replacement: 'constexpr uint32_t kAvx2 = 1u << 22;',
    reason: 'another bit of CPUID, which is 0: no processor runs AVX2',
    kernel: 'avx2'
  },
  {
    name: 'saved-registers',
    original: 'if ((QueryCpuId(1).ecx & kOsxsave) == 0) return 0;',
    replacement: 'if ((QueryCpuId(1).ecx & kOsxsave) != 0) return 0;',
    reason: 'no kernel of wide registers where the operating system saves them',
    kernel: 'avx2'
  }
]);

add('src/mask.h', [
  {
    name: 'rotation-wrong-way',
    original: 'return key >> shift | key << ((32 - shift) & 31);',
    replacement: 'return key << shift | key >> ((32 - shift) & 31);',
    reason: 'the key is rotated the wrong way'
  },
  {
    name: 'rotation-bits',
    original: 'static_cast<unsigned>(bytes & 3) * 8;',
    replacement: 'static_cast<unsigned>(bytes & 1) * 8;',
    reason: 'the key is not rotated by two bytes'
  },
  {
    name: 'short-from-7',
    original: 'if (length >= 8) {',
    replacement: 'if (length >= 7) {',
    reason: '7 bytes are masked as 8: the byte before them is written'
  },
  {
    name: 'short-from-3',
    original: 'if (length >= 4) {',
    replacement: 'if (length >= 3) {',
    reason: '3 bytes are masked as 4: the byte before them is written'
  },
  {
    name: 'short-from-9',
    original: 'if (length >= 8) {',
    replacement: 'if (length > 8) {',
    reason: '8 bytes are masked as two words of 4',
    equivalent: 'two words of 4 bytes are the same 8 bytes'
  },
  {
    name: 'short-tail-key',
    original: 'Load<uint32_t>(source + length - 4) ^ AdvanceKey(key, length);',
    replacement: 'Load<uint32_t>(source + length - 4) ^ key;',
    reason: 'the tail of 5 to 7 bytes meets the key without rotation'
  },
  {
    name: 'short-head-ascii',
    original: 'return ((head | tail) & 0x80808080u) != 0 ? 0x80 : 0;',
    replacement: 'return (tail & 0x80808080u) != 0 ? 0x80 : 0;',
    reason: 'the first bytes of 5 to 7 count as ASCII'
  },
  {
    name: 'overlap-never',
    original: 'if (to > from && to - from < length) {',
    replacement: 'if (to < from && from - to < length) {',
    reason: 'an overlapping output above its source is masked from bytes that are already masked'
  },
  {
    name: 'overlap-by-one',
    original: 'to - from < length) {',
    replacement: 'to - from + 1 < length) {',
    reason: 'an output that overlaps its source by one byte'
  },
  {
    name: 'overlap-none',
    original: 'to - from < length) {',
    replacement: 'to - from <= length) {',
    reason: 'an output right behind its source is copied first',
    equivalent: 'the copy takes time, but gives the same bytes'
  }
]);

add('src/scan.cc', [
  {
    name: 'opcode-3',
    original: 'kKnownOpcodes = 0x0707;',
    replacement: 'kKnownOpcodes = 0x070f;',
    reason: 'opcode 3, which is reserved, is accepted'
  },
  {
    name: 'opcode-11',
    original: 'kKnownOpcodes = 0x0707;',
    replacement: 'kKnownOpcodes = 0x0f07;',
    reason: 'opcode 11, which is reserved, is accepted'
  },
  {
    name: 'control-fragment',
    original: 'return (byte & (kFin | kRsv)) == kFin;',
    replacement: 'return (byte & kRsv) == 0;',
    reason: 'control frames may be fragments'
  },
  {
    name: 'control-rsv',
    original: 'return (byte & (kFin | kRsv)) == kFin;',
    replacement: 'return (byte & kFin) == kFin;',
    reason: 'control frames may have RSV bits'
  },
  {
    name: 'control-length',
    original: 'if ((first_byte & kControl) != 0) break;',
    replacement: 'if ((first_byte & kOpcode) == kClose) break;',
    reason: 'Ping and Pong frames may have an extended length'
  },
  {
    name: 'rsv1-continuation',
    original: '== kRsv1 && opcode != 0 && (mode',
    replacement: '== kRsv1 && (mode',
    reason: 'continuation frames may have RSV1'
  },
  {
    name: 'rsv1-not-negotiated',
    original: 'opcode != 0 && (mode & kModeRsv1) != 0;',
    replacement: 'opcode != 0;',
    reason: 'RSV1 is accepted without an extension'
  },
  {
    name: 'rsv2-with-rsv1',
    original: 'return (byte & kRsv) == kRsv1 &&',
    replacement: 'return (byte & kRsv1) == kRsv1 &&',
    reason: 'RSV2 and RSV3 are accepted beside RSV1'
  },
  {
    name: 'mask-bit',
    original: '(header[1] & 0x80) != mask_bit) break;',
    replacement: '(header[1] & 0x80) < mask_bit) break;',
    reason: 'a client accepts masked frames'
  },
  {
    name: 'one-byte-header',
    original: 'while (count < capacity && length - position >= 2) {',
    replacement: 'while (count < capacity && length - position >= 1) {',
    reason: 'the byte behind the chunk is read',
    equivalent: 'the check of header_size stops there, too; with ASan, test/codec/scan.js fails'
  },
  {
    name: 'cut-length',
    original: 'if (available < 2 + length_size) break;',
    replacement: 'if (available < length_size) break;',
    reason: 'two bytes behind the chunk are read',
    equivalent: 'the check of header_size stops there, too; with ASan, test/codec/scan.js fails'
  },
  {
    name: 'minimal-16',
    original: '(length_size == 2 ? 126u : 65536u)',
    replacement: '(length_size == 2 ? 125u : 65536u)',
    reason: 'the length 125 may take 16 bits'
  },
  {
    name: 'minimal-64',
    original: '(length_size == 2 ? 126u : 65536u)',
    replacement: '(length_size == 2 ? 126u : 65535u)',
    reason: 'the length 65535 may take 64 bits'
  },
  {
    name: 'cut-header',
    original: 'if (available < header_size || payload > available - header_size) break;',
    replacement: 'if (payload > available - header_size) break;',
    reason: 'a header that the end of the chunk cuts: the bytes that are left wrap'
  },
  {
    name: 'cut-payload',
    original: 'payload > available - header_size) break;',
    replacement: 'payload > available - header_size + 1) break;',
    reason: 'a payload that ends one byte behind the chunk'
  },
  {
    name: 'wrapping-sum',
    original: 'payload > available - header_size) break;',
    replacement: 'payload + header_size > available) break;',
    reason: 'a length near 2^64: the sum wraps'
  },
  {
    name: 'length-32-bits',
    original: 'payload > available - header_size) break;',
    replacement: 'static_cast<uint32_t>(payload) > available - header_size) break;',
    reason: 'the upper half of a 64-bit length is ignored',
    equivalent: 'the check of UINT32_MAX stops there, too, in chunks of less than 4 GiB'
  },
  {
    name: 'length-48-bits',
    original: 'for (size_t i = 0; i < length_size; i++) payload = payload << 8 | header[2 + i];',
    replacement:
      'for (size_t i = length_size == 8 ? 2 : 0; i < length_size; i++) payload = payload << 8 | header[2 + i];',
    reason: 'the highest bytes of a 64-bit length are ignored'
  },
  {
    name: 'end-beyond-32-bits',
    original: 'if (end > UINT32_MAX) break;',
    replacement: '',
    reason: 'an index that the frame table cannot hold is cut'
  },
  {
    name: 'end-at-32-bits',
    original: 'if (end > UINT32_MAX) break;',
    replacement: 'if (end >= UINT32_MAX) break;',
    reason: 'the last index that the frame table can hold is refused'
  },
  {
    name: 'continuation-ascii',
    original: '(first_byte & kOpcode) <= kText;',
    replacement: '(first_byte & kOpcode) == kText;',
    reason: 'continuation frames count as ASCII'
  },
  {
    name: 'binary-ascii',
    original: '(first_byte & kOpcode) <= kText;',
    replacement: '(first_byte & kOpcode) <= kText + 1;',
    reason: 'binary frames get the flag for text'
  },
  {
    name: 'plain-ascii-tail',
    original: 'for (; i < length; i++) seen |= bytes[i];',
    replacement: 'for (; i + 1 < length; i++) seen |= bytes[i];',
    reason: 'the last byte of text that is not masked counts as ASCII'
  },
  {
    name: 'plain-ascii-word',
    original: 'for (; length - i >= 8; i += 8)',
    replacement: 'for (; length - i > 8; i += 8)',
    reason: 'the last 8 bytes are read one by one',
    equivalent: 'the same bytes are read'
  },
  {
    name: 'key-address',
    original: 'Load<uint32_t>(chunk + start - 4)',
    replacement: 'Load<uint32_t>(chunk + position + 2)',
    reason: 'with an extended length, the key is read from there'
  },
  {
    name: 'full-table',
    original: 'while (count < capacity &&',
    replacement: 'while (count <= capacity &&',
    reason: 'an entry is written behind the frame table'
  },
  {
    name: 'after-close',
    original: 'if ((first_byte & kOpcode) == kClose) break;\n  }',
    replacement: '}',
    reason: 'frames after a Close frame are found'
  }
]);

add('src/kernels/scalar.cc', [
  {
    name: 'scalar-loop-end',
    original: 'for (; i + 32 < length; i += 32) {',
    replacement: 'for (; i + 24 < length; i += 32) {',
    reason: 'bytes behind the range are written'
  },
  {
    name: 'scalar-loop-early',
    original: 'for (; i + 8 < length; i += 8) {',
    replacement: 'for (; i + 16 < length; i += 8) {',
    reason: 'bytes before the tail are not masked'
  },
  {
    name: 'scalar-ascii',
    original: 'seen |= a | b | c | d;',
    replacement: 'seen |= a | b | c;',
    reason: 'each fourth word counts as ASCII'
  },
  {
    name: 'scalar-tail-order',
    original: 'uint64_t seen = tail;',
    replacement: 'Store(destination + length - 8, tail);\n  uint64_t seen = tail;',
    reason: 'an overlapping output below its source: the tail is stored before its bytes are read again'
  }
]);

add('src/kernels/vector-loop.h', [
  {
    name: 'vector-body-key',
    original: 'Vector::Splat(AdvanceKey(key, i));',
    replacement: 'Vector::Splat(key);',
    reason: 'the body meets the key without rotation where stores are aligned',
    kernel: 'sse2'
  },
  {
    name: 'vector-tail-key',
    original: 'Vector::Splat(AdvanceKey(key, length));',
    replacement: 'Vector::Splat(AdvanceKey(key, length + 1));',
    reason: 'the tail meets a key that is rotated by one byte too many',
    kernel: 'sse2'
  },
  {
    name: 'vector-loop-end',
    original: 'for (; i + (4 * kWidth) <= length; i += 4 * kWidth) {',
    replacement: 'for (; i + (4 * kWidth) <= length + 1; i += 4 * kWidth) {',
    reason: 'the byte behind the range is written',
    kernel: 'sse2'
  },
  {
    name: 'vector-loop-early',
    original: 'for (; i + kWidth < length; i += kWidth) {',
    replacement: 'for (; i + kWidth + 1 < length; i += kWidth) {',
    reason: 'one byte before the tail is not masked',
    kernel: 'sse2'
  },
  {
    name: 'vector-loop-once-more',
    original: 'for (; i + kWidth < length; i += kWidth) {',
    replacement: 'for (; i + kWidth <= length; i += kWidth) {',
    reason: 'the last vector is masked twice from the source',
    equivalent: 'the tail, which was loaded before, is stored over it with the same bytes'
  },
  {
    name: 'vector-first-ascii',
    original: 'Vector seen = first | last;',
    replacement: 'Vector seen = last;',
    reason: 'the first vector counts as ASCII',
    kernel: 'sse2'
  },
  {
    name: 'vector-body-ascii',
    original: 'seen = seen | ((a | b) | (c | d));',
    replacement: 'seen = seen | ((a | b) | c);',
    reason: 'each fourth vector counts as ASCII',
    kernel: 'sse2'
  },
  {
    name: 'vector-rest-ascii',
    original: 'seen = seen | vector;',
    replacement: '',
    reason: 'the vectors behind the groups of four count as ASCII',
    kernel: 'sse2'
  },
  {
    name: 'vector-align-from',
    original: 'constexpr size_t kAlignFrom = 512;',
    replacement: 'constexpr size_t kAlignFrom = 0;',
    reason: 'stores are aligned for short payloads, too',
    equivalent: 'alignment changes the time only'
  },
  {
    name: 'vector-first-order',
    original: '  size_t i = kWidth;',
    replacement: '  first.Store(destination);\n  size_t i = kWidth;',
    reason: 'an overlapping output: the first vector is stored before its bytes are read again',
    kernel: 'sse2'
  },
  {
    name: 'fetch-always',
    original: 'length >= size_t{24} << 10 && length <= size_t{2} << 20;',
    replacement: 'length >= 128;',
    reason: 'prefetches for payloads of any length',
    equivalent: 'a prefetch is not an access: it changes the time only'
  }
]);

add('src/kernels/sse2.cc', [
  {
    name: 'sse2-from-15',
    original: 'if (length < 16) return',
    replacement: 'if (length < 15) return',
    reason: '15 bytes are masked as 16: the byte before them is written',
    kernel: 'sse2'
  },
  {
    name: 'sse2-top-bits',
    original: 'return _mm_movemask_epi8(bits) != 0;',
    replacement: 'return _mm_movemask_epi8(bits) > 1;',
    reason: 'the first byte of a vector counts as ASCII',
    kernel: 'sse2'
  }
]);

add('src/kernels/avx2.cc', [
  {
    name: 'avx2-from-31',
    original: 'if (length < 32) return',
    replacement: 'if (length < 31) return',
    reason: '31 bytes are masked as 32: the byte before them is written',
    kernel: 'avx2'
  },
  {
    name: 'avx2-top-bits',
    original: 'return _mm256_movemask_epi8(bits) != 0;',
    replacement: 'return _mm256_movemask_epi8(bits) > 0;',
    reason: 'a vector whose last byte is not ASCII counts as ASCII: the mask is negative',
    kernel: 'avx2'
  }
]);

add('src/kernels/avx512.cc', [
  {
    name: 'avx512-from-63',
    original: 'if (length < 128) return',
    replacement: 'if (length < 63) return',
    reason: '63 bytes are masked as 64: the byte before them is written',
    kernel: 'avx512'
  },
  {
    name: 'avx512-from-64',
    original: 'if (length < 128) return',
    replacement: 'if (length < 64) return',
    reason: '64 to 127 bytes are masked by vectors of 64',
    equivalent: 'the threshold changes the time only'
  },
  {
    name: 'avx512-top-bits',
    original: 'return _mm512_movepi8_mask(bits) != 0;',
    replacement: 'return static_cast<uint32_t>(_mm512_movepi8_mask(bits)) != 0;',
    reason: 'the upper half of a vector counts as ASCII',
    kernel: 'avx512'
  }
]);

module.exports = { MUTANTS };
