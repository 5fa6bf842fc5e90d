// 64 bytes a vector: AVX-512 BW and VL, Skylake-X (2017), Zen 4 (2022) and later.
#include "../mask.h"

#ifdef FRAMEMASK_AVX512
#include <immintrin.h>

namespace framemask {
namespace {

template <bool kFetch>
FRAMEMASK_TARGET("avx512f,avx512bw,avx512vl")
uint8_t MaskVectors(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key) {
  const __m512i key16 = _mm512_set1_epi32(static_cast<int>(key));
  const __m512i head = _mm512_xor_si512(_mm512_loadu_si512(source), key16);
  const __m512i tail = _mm512_xor_si512(_mm512_loadu_si512(source + length - 64),
                                        _mm512_set1_epi32(static_cast<int>(AdvanceKey(key, length))));
  __m512i seen = _mm512_or_si512(head, tail);
  size_t i = 64;
  if (length >= kAlignFrom) i -= reinterpret_cast<uintptr_t>(destination) & 63;
  const __m512i body_key = _mm512_set1_epi32(static_cast<int>(AdvanceKey(key, i)));
  for (; i + 256 <= length; i += 256) {
    if constexpr (kFetch) FetchLines<256>(destination + i + kFetchAhead);
    const __m512i a = _mm512_xor_si512(_mm512_loadu_si512(source + i), body_key);
    const __m512i b = _mm512_xor_si512(_mm512_loadu_si512(source + i + 64), body_key);
    const __m512i c = _mm512_xor_si512(_mm512_loadu_si512(source + i + 128), body_key);
    const __m512i d = _mm512_xor_si512(_mm512_loadu_si512(source + i + 192), body_key);
    _mm512_storeu_si512(destination + i, a);
    _mm512_storeu_si512(destination + i + 64, b);
    _mm512_storeu_si512(destination + i + 128, c);
    _mm512_storeu_si512(destination + i + 192, d);
    seen = _mm512_or_si512(seen, _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d)));
  }
  for (; i + 64 < length; i += 64) {
    const __m512i vector = _mm512_xor_si512(_mm512_loadu_si512(source + i), body_key);
    _mm512_storeu_si512(destination + i, vector);
    seen = _mm512_or_si512(seen, vector);
  }
  _mm512_storeu_si512(destination, head);
  _mm512_storeu_si512(destination + length - 64, tail);
  return _mm512_movepi8_mask(seen) != 0 ? 0x80 : 0;
}

}  // namespace

FRAMEMASK_TARGET("avx512f,avx512bw,avx512vl")
uint8_t MaskAvx512(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key) {
  // Byte masks would serve here in three instructions, but take 10 ns for 16 bytes that were written a moment ago,
  // where the narrower kernel takes 5; from 125 bytes on the two are level.
  if (length < 128) return MaskAvx2(source, destination, length, key);
  return FetchPays(source, destination, length) ? MaskVectors<true>(source, destination, length, key)
                                                : MaskVectors<false>(source, destination, length, key);
}

}  // namespace framemask
#endif
