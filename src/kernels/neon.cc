// 16 bytes a vector: every arm64 processor, and armv7 ones with NEON.
#include "../mask.h"

#ifdef FRAMEMASK_NEON
#include <arm_neon.h>

#if defined(__arm__) && defined(__clang__)
#define FRAMEMASK_TARGET_NEON FRAMEMASK_TARGET("neon")
#elif defined(__arm__)
#define FRAMEMASK_TARGET_NEON FRAMEMASK_TARGET("fpu=neon")
#else
#define FRAMEMASK_TARGET_NEON
#endif

namespace framemask {

FRAMEMASK_TARGET_NEON
uint8_t MaskNeon(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key) {
  if (length < 16) return MaskShort(source, destination, length, key);
  const uint8x16_t head = veorq_u8(vld1q_u8(source), vreinterpretq_u8_u32(vdupq_n_u32(key)));
  const uint8x16_t tail =
      veorq_u8(vld1q_u8(source + length - 16), vreinterpretq_u8_u32(vdupq_n_u32(AdvanceKey(key, length))));
  uint8x16_t seen = vorrq_u8(head, tail);
  size_t i = 16;
  if (length >= kAlignFrom) i -= reinterpret_cast<uintptr_t>(destination) & 15;
  const uint8x16_t key4 = vreinterpretq_u8_u32(vdupq_n_u32(AdvanceKey(key, i)));
  for (; i + 64 <= length; i += 64) {
    const uint8x16_t a = veorq_u8(vld1q_u8(source + i), key4);
    const uint8x16_t b = veorq_u8(vld1q_u8(source + i + 16), key4);
    const uint8x16_t c = veorq_u8(vld1q_u8(source + i + 32), key4);
    const uint8x16_t d = veorq_u8(vld1q_u8(source + i + 48), key4);
    vst1q_u8(destination + i, a);
    vst1q_u8(destination + i + 16, b);
    vst1q_u8(destination + i + 32, c);
    vst1q_u8(destination + i + 48, d);
    seen = vorrq_u8(seen, vorrq_u8(vorrq_u8(a, b), vorrq_u8(c, d)));
  }
  for (; i + 16 < length; i += 16) {
    const uint8x16_t vector = veorq_u8(vld1q_u8(source + i), key4);
    vst1q_u8(destination + i, vector);
    seen = vorrq_u8(seen, vector);
  }
  vst1q_u8(destination, head);
  vst1q_u8(destination + length - 16, tail);
  const uint64x2_t halves = vreinterpretq_u64_u8(seen);
  return ((vgetq_lane_u64(halves, 0) | vgetq_lane_u64(halves, 1)) & 0x8080808080808080u) != 0 ? 0x80 : 0;
}

}  // namespace framemask
#endif
