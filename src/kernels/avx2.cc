// 32 bytes a vector: Haswell (2013), Excavator (2015) and later.
#include "../mask.h"

#ifdef FRAMEMASK_X86
#include <immintrin.h>

namespace framemask {
namespace {

FRAMEMASK_TARGET("avx2")
inline __m256i LoadVector(const uint8_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }

FRAMEMASK_TARGET("avx2")
inline void StoreVector(uint8_t* to, __m256i vector) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), vector); }

template <bool kFetch>
FRAMEMASK_TARGET("avx2")
uint8_t MaskVectors(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key) {
  const __m256i head = _mm256_xor_si256(LoadVector(source), _mm256_set1_epi32(static_cast<int>(key)));
  const __m256i tail =
      _mm256_xor_si256(LoadVector(source + length - 32), _mm256_set1_epi32(static_cast<int>(AdvanceKey(key, length))));
  __m256i seen = _mm256_or_si256(head, tail);
  size_t i = 32;
  if (length >= kAlignFrom) i -= reinterpret_cast<uintptr_t>(destination) & 31;
  const __m256i key8 = _mm256_set1_epi32(static_cast<int>(AdvanceKey(key, i)));
  for (; i + 128 <= length; i += 128) {
    if constexpr (kFetch) FetchLines<128>(destination + i + kFetchAhead);
    const __m256i a = _mm256_xor_si256(LoadVector(source + i), key8);
    const __m256i b = _mm256_xor_si256(LoadVector(source + i + 32), key8);
    const __m256i c = _mm256_xor_si256(LoadVector(source + i + 64), key8);
    const __m256i d = _mm256_xor_si256(LoadVector(source + i + 96), key8);
    StoreVector(destination + i, a);
    StoreVector(destination + i + 32, b);
    StoreVector(destination + i + 64, c);
    StoreVector(destination + i + 96, d);
    seen = _mm256_or_si256(seen, _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d)));
  }
  for (; i + 32 < length; i += 32) {
    const __m256i vector = _mm256_xor_si256(LoadVector(source + i), key8);
    StoreVector(destination + i, vector);
    seen = _mm256_or_si256(seen, vector);
  }
  StoreVector(destination, head);
  StoreVector(destination + length - 32, tail);
  return _mm256_movemask_epi8(seen) != 0 ? 0x80 : 0;
}

}  // namespace

FRAMEMASK_TARGET("avx2")
uint8_t MaskAvx2(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key) {
  if (length < 32) return MaskSse2(source, destination, length, key);
  return FetchPays(source, destination, length) ? MaskVectors<true>(source, destination, length, key)
                                                : MaskVectors<false>(source, destination, length, key);
}

}  // namespace framemask
#endif
