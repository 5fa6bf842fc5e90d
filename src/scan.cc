#include "scan.h"

namespace framemask {
namespace {

constexpr unsigned kFin = 0x80, kRsv1 = 0x40, kRsv = 0x70, kOpcode = 0x0f, kControl = 0x08;
constexpr unsigned kText = 1, kClose = 8;
constexpr unsigned kKnownOpcodes = 0x0707;  // bits 0 to 2: data frames, 8 to 10: control frames

// Whether any frame may begin with this byte. lib/codec/message-assembler.js judges whether this
// one may, by the message in progress.
bool AcceptsFirstByte(unsigned byte, uint32_t mode) {
  const unsigned opcode = byte & kOpcode;
  if ((kKnownOpcodes >> opcode & 1) == 0) return false;
  if ((opcode & kControl) != 0) return (byte & (kFin | kRsv)) == kFin;
  if ((byte & kRsv) == 0) return true;
  return (byte & kRsv) == kRsv1 && opcode != 0 && (mode & kModeRsv1) != 0;
}

uint8_t AnyTopBit(const uint8_t* bytes, size_t length) {
  uint64_t seen = 0;
  size_t i = 0;
  for (; length - i >= 8; i += 8) seen |= Load<uint64_t>(bytes + i);
  for (; i < length; i++) seen |= bytes[i];
  return (seen & 0x8080808080808080u) != 0 ? 0x80 : 0;
}

}  // namespace

size_t Scan(MaskKernel kernel, uint8_t* chunk, size_t length, size_t position, uint32_t mode, uint32_t* table,
            size_t capacity) {
  const unsigned mask_bit = mode & kModeMasked;
  const size_t key_size = mask_bit != 0 ? 4 : 0;
  size_t count = 0;
  while (count < capacity && length - position >= 2) {
    const uint8_t* header = chunk + position;
    const size_t available = length - position;
    const unsigned first_byte = header[0];
    if (!AcceptsFirstByte(first_byte, mode) || (header[1] & 0x80) != mask_bit) break;

    uint64_t payload = header[1] & 0x7f;
    size_t header_size = 2 + key_size;
    if (payload >= 126) {
      // "All control frames MUST have a payload length of 125 bytes or less" (section 5.5).
      if ((first_byte & kControl) != 0) break;
      const size_t length_size = payload == 126 ? 2 : 8;
      if (available < 2 + length_size) break;
      payload = 0;
      for (size_t i = 0; i < length_size; i++) payload = payload << 8 | header[2 + i];
      // "The minimal number of bytes MUST be used to encode the length" (section 5.2).
      if (payload < (length_size == 2 ? 126u : 65536u)) break;
      header_size += length_size;
    }
    if (available < header_size || payload > available - header_size) break;

    const size_t start = position + header_size;
    const size_t end = start + static_cast<size_t>(payload);
    if (end > UINT32_MAX) break;
    const bool text = (first_byte & kOpcode) <= kText;
    uint8_t non_ascii = 0;
    if (payload != 0) {
      if (mask_bit != 0) {
        non_ascii = kernel(chunk + start, chunk + start, end - start, Load<uint32_t>(chunk + start - 4));
      } else if (text) {
        non_ascii = AnyTopBit(chunk + start, end - start);
      }
    }
    table[0] = first_byte | (text && non_ascii != 0 ? kTableNonAscii : 0);
    table[1] = static_cast<uint32_t>(start);
    table[2] = static_cast<uint32_t>(end);
    table += kTableStride;
    count++;
    position = end;
    if ((first_byte & kOpcode) == kClose) break;
  }
  return count;
}

}  // namespace framemask
