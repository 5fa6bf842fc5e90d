// 16 bytes a vector: every x86-64 processor.
#include "../mask.h"

#ifdef FRAMEMASK_X86
#include <emmintrin.h>

namespace framemask {
namespace {

FRAMEMASK_TARGET("sse2")
inline __m128i LoadVector(const uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }

FRAMEMASK_TARGET("sse2")
inline void StoreVector(uint8_t* to, __m128i vector) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), vector); }

template <bool kFetch>
FRAMEMASK_TARGET("sse2")
uint8_t MaskVectors(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key) {
  const __m128i head = _mm_xor_si128(LoadVector(source), _mm_set1_epi32(static_cast<int>(key)));
  const __m128i tail =
      _mm_xor_si128(LoadVector(source + length - 16), _mm_set1_epi32(static_cast<int>(AdvanceKey(key, length))));
  __m128i seen = _mm_or_si128(head, tail);
  size_t i = 16;
  if (length >= kAlignFrom) i -= reinterpret_cast<uintptr_t>(destination) & 15;
  const __m128i key4 = _mm_set1_epi32(static_cast<int>(AdvanceKey(key, i)));
  for (; i + 64 <= length; i += 64) {
    if constexpr (kFetch) FetchLines<64>(destination + i + kFetchAhead);
    const __m128i a = _mm_xor_si128(LoadVector(source + i), key4);
    const __m128i b = _mm_xor_si128(LoadVector(source + i + 16), key4);
    const __m128i c = _mm_xor_si128(LoadVector(source + i + 32), key4);
    const __m128i d = _mm_xor_si128(LoadVector(source + i + 48), key4);
    StoreVector(destination + i, a);
    StoreVector(destination + i + 16, b);
    StoreVector(destination + i + 32, c);
    StoreVector(destination + i + 48, d);
    seen = _mm_or_si128(seen, _mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d)));
  }
  for (; i + 16 < length; i += 16) {
    const __m128i vector = _mm_xor_si128(LoadVector(source + i), key4);
    StoreVector(destination + i, vector);
    seen = _mm_or_si128(seen, vector);
  }
  StoreVector(destination, head);
  StoreVector(destination + length - 16, tail);
  return _mm_movemask_epi8(seen) != 0 ? 0x80 : 0;
}

}  // namespace

FRAMEMASK_TARGET("sse2")
uint8_t MaskSse2(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key) {
  if (length < 16) return MaskShort(source, destination, length, key);
  return FetchPays(source, destination, length) ? MaskVectors<true>(source, destination, length, key)
                                                : MaskVectors<false>(source, destination, length, key);
}

}  // namespace framemask
#endif
