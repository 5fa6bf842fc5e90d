// Plain C++ over 64-bit words: every processor, either byte order.
#include "../mask.h"

namespace framemask {

uint8_t MaskScalar(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key) {
  if (length < 16) return MaskShort(source, destination, length, key);
  const uint64_t key8 = static_cast<uint64_t>(key) << 32 | key;
  const uint32_t tail_key = AdvanceKey(key, length);
  const uint64_t tail = Load<uint64_t>(source + length - 8) ^ (static_cast<uint64_t>(tail_key) << 32 | tail_key);
  uint64_t seen = tail;
  size_t i = 0;
  for (; i + 32 < length; i += 32) {
    const uint64_t a = Load<uint64_t>(source + i) ^ key8;
    const uint64_t b = Load<uint64_t>(source + i + 8) ^ key8;
    const uint64_t c = Load<uint64_t>(source + i + 16) ^ key8;
    const uint64_t d = Load<uint64_t>(source + i + 24) ^ key8;
    Store(destination + i, a);
    Store(destination + i + 8, b);
    Store(destination + i + 16, c);
    Store(destination + i + 24, d);
    seen |= a | b | c | d;
  }
  for (; i + 8 < length; i += 8) {
    const uint64_t word = Load<uint64_t>(source + i) ^ key8;
    Store(destination + i, word);
    seen |= word;
  }
  Store(destination + length - 8, tail);
  return (seen & 0x8080808080808080u) != 0 ? 0x80 : 0;
}

}  // namespace framemask
