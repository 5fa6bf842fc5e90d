// 16 bytes a vector: every x86-64 processor.
#include "../mask.h"

#ifdef FRAMEMASK_X86
#include <emmintrin.h>

FRAMEMASK_TARGET_BEGIN("sse2")
#include "vector-loop.h"

namespace framemask {
namespace {

struct Vector {
  __m128i bits;

  static Vector Load(const uint8_t* from) { return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))}; }
  static Vector Splat(uint32_t word) { return {_mm_set1_epi32(static_cast<int>(word))}; }
  void Store(uint8_t* to) const { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bits); }
  Vector operator^(Vector other) const { return {_mm_xor_si128(bits, other.bits)}; }
  Vector operator|(Vector other) const { return {_mm_or_si128(bits, other.bits)}; }
  [[nodiscard]] bool AnyTopBit() const { return _mm_movemask_epi8(bits) != 0; }
};

}  // namespace

uint8_t MaskSse2(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key) {
  if (length < 16) return MaskShort(source, destination, length, key);
  return ShouldPrefetch<Vector>(source, destination, length)
             ? MaskVectors<Vector, true>(source, destination, length, key)
             : MaskVectors<Vector, false>(source, destination, length, key);
}

}  // namespace framemask
FRAMEMASK_TARGET_END
#endif
