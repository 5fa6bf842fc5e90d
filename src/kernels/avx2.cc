// 32 bytes a vector: Haswell (2013), Excavator (2015) and later.
#include "../mask.h"

#ifdef FRAMEMASK_X86
#include <immintrin.h>

FRAMEMASK_TARGET_BEGIN("avx2")
#include "vector-loop.h"

namespace framemask {
namespace {

struct Vector {
  __m256i bits;

  static Vector Load(const uint8_t* from) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))}; }
  static Vector Splat(uint32_t word) { return {_mm256_set1_epi32(static_cast<int>(word))}; }
  void Store(uint8_t* to) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bits); }
  Vector operator^(Vector other) const { return {_mm256_xor_si256(bits, other.bits)}; }
  Vector operator|(Vector other) const { return {_mm256_or_si256(bits, other.bits)}; }
  [[nodiscard]] bool AnyTopBit() const { return _mm256_movemask_epi8(bits) != 0; }
};

}  // namespace

uint8_t MaskAvx2(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key) {
  if (length < 32) return MaskSse2(source, destination, length, key);
  return ShouldPrefetch<Vector>(source, destination, length)
             ? MaskVectors<Vector, true>(source, destination, length, key)
             : MaskVectors<Vector, false>(source, destination, length, key);
}

}  // namespace framemask
FRAMEMASK_TARGET_END
#endif
