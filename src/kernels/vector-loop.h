// The loop of all vector kernels. Each kernel includes this file in its target region, so that the
// loop is compiled for its instruction set. Everything here is a template over `Vector`, a type in
// the kernel's anonymous namespace. So each kernel gets functions of its own, and the linker can't
// replace one kernel's functions by another's. A Vector is one register:
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
// Whether to prefetch the destination: if it is not the source, and both no longer fit the L1
// cache. 32 KiB then take 460 ns instead of 700, 64 KiB 1330 instead of 1390 (with SSE2 instead of
// 3230, with AVX2 at an unlucky alignment instead of 2000; Sapphire Rapids, memmove takes 1450).
// Beyond the L2 cache it costs 2 %. Loads need none: the processor prefetches them.
template <typename Vector>
bool ShouldPrefetch(const uint8_t* source, const uint8_t* destination, size_t length) {
  return source != destination && length >= size_t{24} << 10 && length <= size_t{2} << 20;
}

// Prefetches where four vectors will be stored some iterations later. Addresses past the end do no
// harm: a prefetch is not an access.
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
// The first and the last vector are loaded before, and stored after, the vectors between them. They
// may overlap those: the shared bytes are loaded before any store, and both stores write the same
// value. So neither end needs a loop over bytes, and aligning the stores between them is free.
template <typename Vector, bool kFetch>
uint8_t MaskVectors(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key) {
  constexpr size_t kWidth = sizeof(Vector);
  // Aligned stores are faster from 320 to 448 bytes on with AVX2 and AVX-512, from 1024 on with
  // SSE2; 512 is within 2 ns of the best for each (Sapphire Rapids). In L1 they are up to 2x
  // faster.
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
