// Every kernel against a loop over bytes: into other memory, in place, and into memory that
// overlaps from either side.
#include <string.h>

#include "kernels.h"

namespace {

// The first bytes of an input say how the others are masked.
struct Plan {
  uint8_t key[4];
  uint8_t source_offset;
  uint8_t destination_offset;
  uint8_t distance;  // between source and destination where they overlap
  uint8_t repeats;   // of the payload, so that a short input reaches the loops for long ones
};

using Bytes = std::vector<uint8_t>;

struct Expected {
  Bytes bytes;
  bool any_top_bit = false;
};

Expected ReferenceMask(const Bytes& source, const uint8_t* key) {
  Expected masked{source};
  for (size_t i = 0; i < source.size(); i++) {
    masked.bytes[i] ^= key[i % 4];
    if (masked.bytes[i] >= 0x80) masked.any_top_bit = true;
  }
  return masked;
}

void Check(const char* kernel, const char* how, const uint8_t* result, uint8_t seen, const Expected& expected) {
  const Bytes& bytes = expected.bytes;
  if (!bytes.empty() && memcmp(result, bytes.data(), bytes.size()) != 0) Fail(kernel, how);
  if (((seen & 0x80) != 0) != expected.any_top_bit) Fail(kernel, "the top bit of what is returned");
}

void TestKernel(const Kernel& kernel, const Plan& plan, const Bytes& payload, const Expected& expected) {
  const size_t length = payload.size();
  const auto key = framemask::Load<uint32_t>(plan.key);
  const size_t source_offset = plan.source_offset % 64;
  const size_t destination_offset = plan.destination_offset % 64;
  const auto fill = [&payload, length](uint8_t* to) {
    if (length != 0) memcpy(to, payload.data(), length);
  };
  {
    const Memory source(length, source_offset), destination(length, destination_offset);
    fill(source.get());
    const uint8_t seen = framemask::Mask(kernel.mask, source.get(), destination.get(), length, key);
    Check(kernel.name, "apart", destination.get(), seen, expected);
    if (length != 0 && memcmp(source.get(), payload.data(), length) != 0) Fail(kernel.name, "the source has changed");
  }
  struct Overlap {
    const char* name;
    size_t source;
    size_t destination;
  };
  const size_t distance = plan.distance;
  for (const auto& [name, from, to] :
       {Overlap{"in place", 0, 0}, Overlap{"the destination below the source", distance, 0},
        Overlap{"the destination above the source", 0, distance}}) {
    const Memory both(length + from + to, source_offset);
    fill(both.get() + from);
    const uint8_t seen = framemask::Mask(kernel.mask, both.get() + from, both.get() + to, length, key);
    Check(kernel.name, name, both.get() + to, seen, expected);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Plan plan;
  if (size < sizeof plan) return 0;
  memcpy(&plan, data, sizeof plan);
  const Bytes once(data + sizeof plan, data + size);
  Bytes payload(once);
  // From 24 KiB on a kernel prefetches. Beyond 2 MiB it stops, and runs the loop for short payloads
  // again.
  constexpr size_t kFetchFrom = size_t{24} << 10;
  const size_t least = plan.repeats < 248 ? once.size() * (1 + plan.repeats / 64) : kFetchFrom + once.size();
  while (!once.empty() && payload.size() < least) payload.insert(payload.end(), once.begin(), once.end());
  const Expected expected = ReferenceMask(payload, plan.key);
  for (const Kernel& kernel : Kernels()) TestKernel(kernel, plan, payload, expected);
  return 0;
}
