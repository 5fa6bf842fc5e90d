// 64 bytes a vector: AVX-512 BW and VL, Skylake-X (2017), Zen 4 (2022) and later.
#include "../mask.h"

#ifdef FRAMEMASK_AVX512
#include <immintrin.h>

FRAMEMASK_TARGET_BEGIN("avx512f,avx512bw,avx512vl")
#include "vector-loop.h"

namespace framemask {
namespace {

struct Vector {
  __m512i bits;

  static Vector Load(const uint8_t* from) { return {_mm512_loadu_si512(from)}; }
  static Vector Splat(uint32_t word) { return {_mm512_set1_epi32(static_cast<int>(word))}; }
  void Store(uint8_t* to) const { _mm512_storeu_si512(to, bits); }
  Vector operator^(Vector other) const { return {_mm512_xor_si512(bits, other.bits)}; }
  Vector operator|(Vector other) const { return {_mm512_or_si512(bits, other.bits)}; }
  [[nodiscard]] bool AnyTopBit() const { return _mm512_movepi8_mask(bits) != 0; }
};

}  // namespace

uint8_t MaskAvx512(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key) {
  // Masked loads and stores need three instructions for a short payload. But they take 10 ns for 16
  // bytes that have just been written, AVX2 takes 5. From 125 bytes on both take the same time.
  if (length < 128) return MaskAvx2(source, destination, length, key);
  return ShouldPrefetch<Vector>(source, destination, length)
             ? MaskVectors<Vector, true>(source, destination, length, key)
             : MaskVectors<Vector, false>(source, destination, length, key);
}

}  // namespace framemask
FRAMEMASK_TARGET_END
#endif
