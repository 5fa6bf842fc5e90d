// 16 bytes a vector: every arm64 processor, and armv7 ones with NEON.
#include "../mask.h"

#ifdef FRAMEMASK_NEON
#include <arm_neon.h>

#if defined(__arm__) && defined(__clang__)
FRAMEMASK_TARGET_BEGIN("neon")
#elif defined(__arm__)
FRAMEMASK_TARGET_BEGIN("fpu=neon")
#endif
#include "vector-loop.h"

namespace framemask {
namespace {

struct Vector {
  uint8x16_t bytes;

  static Vector Load(const uint8_t* from) { return {vld1q_u8(from)}; }
  static Vector Splat(uint32_t word) { return {vreinterpretq_u8_u32(vdupq_n_u32(word))}; }
  void Store(uint8_t* to) const { vst1q_u8(to, bytes); }
  Vector operator^(Vector other) const { return {veorq_u8(bytes, other.bytes)}; }
  Vector operator|(Vector other) const { return {vorrq_u8(bytes, other.bytes)}; }
  [[nodiscard]] bool AnyTopBit() const {
    const uint64x2_t halves = vreinterpretq_u64_u8(bytes);
    return ((vgetq_lane_u64(halves, 0) | vgetq_lane_u64(halves, 1)) & 0x8080808080808080u) != 0;
  }
};

}  // namespace

uint8_t MaskNeon(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key) {
  if (length < 16) return MaskShort(source, destination, length, key);
  return MaskVectors<Vector, false>(source, destination, length, key);
}

}  // namespace framemask
#ifdef __arm__
FRAMEMASK_TARGET_END
#endif
#endif
