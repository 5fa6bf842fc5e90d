// The scan, with every kernel, against one that is written from RFC 6455 section 5.2 and goes byte
// by byte.
#include <string.h>

#include "../../src/scan.h"
#include "kernels.h"

namespace {

struct Frame {
  uint8_t first;
  bool non_ascii;
  size_t start;
  size_t end;
};

using Bytes = std::vector<uint8_t>;

bool MayBegin(uint8_t first, bool rsv1) {
  const bool fin = (first & 0x80) != 0;
  switch (first & 0x7f) {
    case 0x00:  // continuation
    case 0x01:  // text
    case 0x02:  // binary
      return true;
    case 0x41:  // the same with RSV1
    case 0x42:
      return rsv1;
    case 0x08:  // close
    case 0x09:  // ping
    case 0x0a:  // pong
      return fin;
    default:
      return false;
  }
}

// Unmasks the frame at `position` in `chunk` if all of it is there and its header breaks no rule.
bool ReadFrame(Bytes& chunk, size_t position, bool masked, bool rsv1, Frame* frame) {
  const size_t size = chunk.size();
  size_t at = position;
  if (size - at < 2) return false;
  const uint8_t first = chunk[at++];
  const uint8_t second = chunk[at++];
  if (!MayBegin(first, rsv1) || ((second & 0x80) != 0) != masked) return false;
  const bool control = (first & 0x08) != 0;
  unsigned __int128 length = second & 0x7f;
  if (length >= 126) {
    if (control) return false;
    const size_t bytes = length == 126 ? 2 : 8;
    const unsigned least = length == 126 ? 126 : 65536;
    if (size - at < bytes) return false;
    length = 0;
    for (size_t i = 0; i < bytes; i++) length = length * 256 + chunk[at++];
    if (length < least) return false;
  }
  uint8_t key[4] = {0, 0, 0, 0};
  if (masked) {
    if (size - at < 4) return false;
    for (uint8_t& byte : key) byte = chunk[at++];
  }
  if (length > size - at) return false;
  *frame = {first, false, at, at + static_cast<size_t>(length)};
  for (size_t i = at; i < frame->end; i++) {
    chunk[i] ^= key[(i - at) % 4];
    if ((first & 0x0f) <= 1 && chunk[i] >= 0x80) frame->non_ascii = true;
  }
  return true;
}

void TestKernel(const Kernel& kernel, const Bytes& input, size_t position, uint32_t mode, size_t capacity,
                size_t offset) {
  const bool masked = (mode & framemask::kModeMasked) != 0;
  const bool rsv1 = (mode & framemask::kModeRsv1) != 0;
  Bytes expected(input);
  std::vector<Frame> frames;
  size_t next = position;
  Frame frame;
  while (frames.size() < capacity && ReadFrame(expected, next, masked, rsv1, &frame)) {
    frames.push_back(frame);
    next = frame.end;
    if ((frame.first & 0x0f) == 8) break;
  }

  const Memory chunk(input.size(), offset);
  if (!input.empty()) memcpy(chunk.get(), input.data(), input.size());
  const Memory table_memory(capacity * framemask::kTableStride * sizeof(uint32_t), 0);
  auto* table = reinterpret_cast<uint32_t*>(table_memory.get());
  const size_t count = framemask::Scan(kernel.mask, chunk.get(), input.size(), position, mode, table, capacity);

  if (count != frames.size()) Fail(kernel.name, "the number of frames");
  for (size_t i = 0; i < count; i++) {
    const uint32_t* row = table + i * framemask::kTableStride;
    const uint32_t first = frames[i].first | (frames[i].non_ascii ? framemask::kTableNonAscii : 0);
    if (row[0] != first) Fail(kernel.name, "the first byte, or whether the text is ASCII");
    if (row[1] != frames[i].start || row[2] != frames[i].end) Fail(kernel.name, "where a payload lies");
  }
  if (!input.empty() && memcmp(chunk.get(), expected.data(), input.size()) != 0) Fail(kernel.name, "the chunk");
}

}  // namespace

// The first bytes of an input: what the scan accepts, how many frames, the alignment of the chunk,
// and where the first frame begins.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kPlan = 4;
  if (size < kPlan) return 0;
  const uint32_t mode = data[0] & (framemask::kModeMasked | framemask::kModeRsv1);
  const size_t capacity = data[1] < 128 ? 1 + data[1] % 8 : 256;
  const Bytes input(data + kPlan, data + size);
  const size_t position = data[3] <= input.size() ? data[3] : 0;
  for (const Kernel& kernel : Kernels()) TestKernel(kernel, input, position, mode, capacity, data[2] % 64);
  return 0;
}
