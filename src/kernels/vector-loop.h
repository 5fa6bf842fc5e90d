// The loop of all vector kernels. Each of them includes this file inside its target region, after all other headers, so
// that the loop is compiled for that instruction set. Everything here is a template over `Vector`, which each kernel
// has in an anonymous namespace: so no two kernels share a function.
//
// A Vector is one register of the instruction set:
//
//   static Vector Load(const uint8_t* from);   // from any address
//   static Vector Splat(uint32_t word);        // the word in each lane of four bytes
//   void Store(uint8_t* to) const;             // to any address
//   Vector operator^(Vector other) const;
//   Vector operator|(Vector other) const;
//   [[nodiscard]] bool AnyTopBit() const;      // whether any byte has its top bit set
#ifndef FRAMEMASK_SRC_KERNELS_VECTOR_LOOP_H_
#define FRAMEMASK_SRC_KERNELS_VECTOR_LOOP_H_

#include "../mask.h"

namespace framemask {

#ifdef FRAMEMASK_X86
// Whether to prefetch the destination's cache lines. It pays for stores into another buffer, where the two no longer
// fit the first-level cache: 32 KiB take 460 ns instead of 700, 64 KiB 1330 instead of 1390, and with SSE2, or AVX2 at
// an unlucky alignment, 1330 instead of 3230 or 2000 (Sapphire Rapids; memmove takes 1450). Beyond a second-level cache
// it would cost 2 %. The processor itself prefetches for loads.
template <typename Vector>
bool FetchPays(const uint8_t* source, const uint8_t* destination, size_t length) {
  return source != destination && length >= size_t{24} << 10 && length <= size_t{2} << 20;
}

// Prefetches what four vectors will be stored to a few turns later. An address past the end does no harm: a prefetch is
// not an access.
template <typename Vector>
void FetchAhead(const uint8_t* destination) {
  constexpr size_t kAhead = 512, kLine = 64;
  for (size_t i = 0; i < 4 * sizeof(Vector); i += kLine) {
    _mm_prefetch(reinterpret_cast<const char*>(destination + kAhead + i), _MM_HINT_T0);
  }
}
#endif

// A kernel for payloads of at least one vector.
//
// The first and the last vector are loaded before, and stored after, those between them. They may overlap those: all
// loads of the shared bytes come before any store, and both stores write the same value. So neither end needs a loop
// over bytes, and aligning the stores between them costs no more.
template <typename Vector, bool kFetch>
uint8_t MaskVectors(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key) {
  constexpr size_t kWidth = sizeof(Vector);
  // Aligned stores pay from 320 to 448 bytes on with AVX2 and AVX-512, from 1024 on with SSE2; at 512 each is within 2
  // ns of its best (Sapphire Rapids). They gain up to 2x in a first-level cache.
  constexpr size_t kAlignFrom = 512;
  const Vector first = Vector::Load(source) ^ Vector::Splat(key);
  const Vector last = Vector::Load(source + length - kWidth) ^ Vector::Splat(AdvanceKey(key, length));
  Vector seen = first | last;
  size_t i = kWidth;
  if (length >= kAlignFrom) i -= reinterpret_cast<uintptr_t>(destination) & (kWidth - 1);
  const Vector body_key = Vector::Splat(AdvanceKey(key, i));
  for (; i + (4 * kWidth) <= length; i += 4 * kWidth) {
#ifdef FRAMEMASK_X86
    if constexpr (kFetch) FetchAhead<Vector>(destination + i);
#endif
    const Vector a = Vector::Load(source + i) ^ body_key;
    const Vector b = Vector::Load(source + i + kWidth) ^ body_key;
    const Vector c = Vector::Load(source + i + (2 * kWidth)) ^ body_key;
    const Vector d = Vector::Load(source + i + (3 * kWidth)) ^ body_key;
    a.Store(destination + i);
    b.Store(destination + i + kWidth);
    c.Store(destination + i + (2 * kWidth));
    d.Store(destination + i + (3 * kWidth));
    seen = seen | ((a | b) | (c | d));
  }
  for (; i + kWidth < length; i += kWidth) {
    const Vector vector = Vector::Load(source + i) ^ body_key;
    vector.Store(destination + i);
    seen = seen | vector;
  }
  first.Store(destination);
  last.Store(destination + length - kWidth);
  return seen.AnyTopBit() ? 0x80 : 0;
}

}  // namespace framemask

#endif  // FRAMEMASK_SRC_KERNELS_VECTOR_LOOP_H_
