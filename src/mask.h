// Masking kernels, and the code that they share.
#ifndef FRAMEMASK_SRC_MASK_H_
#define FRAMEMASK_SRC_MASK_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__) || defined(_M_X64) || defined(_M_IX86)
#define FRAMEMASK_X86 1
#endif
// macOS enables AVX-512 state lazily, so the processor's report is not reliable there. A 32-bit
// process has 8 vector registers, which AVX2 fills as well.
#if (defined(__x86_64__) || defined(_M_X64)) && !defined(__APPLE__)
#define FRAMEMASK_AVX512 1
#endif
#if defined(__aarch64__) || defined(_M_ARM64)
#define FRAMEMASK_NEON 1
#endif
// Some 32-bit ARM processors have NEON, as the operating system tells. Only Linux's way is known.
#if defined(__arm__) && __ARM_ARCH >= 7 && defined(__ARM_PCS_VFP) && defined(__linux__)
#define FRAMEMASK_NEON 1
#endif

// Functions in a target region may use the features' instructions, which the rest of the file must
// not use. Other headers must be included before the region. MSVC allows all instructions anywhere.
#define FRAMEMASK_PRAGMA(text) _Pragma(#text)
#ifdef __clang__
#define FRAMEMASK_TARGET_BEGIN(features) \
  FRAMEMASK_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define FRAMEMASK_TARGET_END FRAMEMASK_PRAGMA(clang attribute pop)
#elif defined(__GNUC__)
#define FRAMEMASK_TARGET_BEGIN(features) FRAMEMASK_PRAGMA(GCC push_options) FRAMEMASK_PRAGMA(GCC target(features))
#define FRAMEMASK_TARGET_END FRAMEMASK_PRAGMA(GCC pop_options)
#else
#define FRAMEMASK_TARGET_BEGIN(features)
#define FRAMEMASK_TARGET_END
#endif

namespace framemask {

// A kernel writes source[i] ^ key[i % 4] to destination[i] for every i below length.
//
// `key` holds the four key bytes in memory order. Neither pointer needs to be aligned. The ranges
// are the same, apart, or overlap with destination below source (`Mask` also takes the other case).
// Returns 0x80 if any byte written has its top bit set, else 0, which means that text is ASCII.
// This check costs one OR for each vector; without it, it would be a second pass over the text.
using MaskKernel = uint8_t (*)(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key);

uint8_t MaskScalar(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key);
uint8_t MaskSse2(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key);
uint8_t MaskAvx2(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key);
uint8_t MaskAvx512(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key);
uint8_t MaskNeon(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key);

// Word access at any address: one instruction if the processor allows that.
template <typename Word>
inline Word Load(const uint8_t* address) {
  Word word;
  memcpy(&word, address, sizeof word);
  return word;
}

template <typename Word>
inline void Store(uint8_t* address, Word word) {
  memcpy(address, &word, sizeof word);
}

// The key from byte `bytes` of the payload on: its bytes rotated towards lower addresses.
inline uint32_t AdvanceKey(uint32_t key, size_t bytes) {
  const unsigned shift = static_cast<unsigned>(bytes & 3) * 8;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  return key << shift | key >> ((32 - shift) & 31);
#else
  return key >> shift | key << ((32 - shift) & 31);
#endif
}

// Masks 0 to 15 bytes: a payload that is shorter than a vector.
inline uint8_t MaskShort(const uint8_t* source, uint8_t* destination, size_t length, uint32_t key) {
  if (length >= 8) {
    const uint64_t key8 = static_cast<uint64_t>(key) << 32 | key;
    const uint32_t tail_key = AdvanceKey(key, length);
    const uint64_t tail_key8 = static_cast<uint64_t>(tail_key) << 32 | tail_key;
    const uint64_t head = Load<uint64_t>(source) ^ key8;
    const uint64_t tail = Load<uint64_t>(source + length - 8) ^ tail_key8;
    Store(destination, head);
    Store(destination + length - 8, tail);
    return ((head | tail) & 0x8080808080808080u) != 0 ? 0x80 : 0;
  }
  if (length >= 4) {
    const uint32_t head = Load<uint32_t>(source) ^ key;
    const uint32_t tail = Load<uint32_t>(source + length - 4) ^ AdvanceKey(key, length);
    Store(destination, head);
    Store(destination + length - 4, tail);
    return ((head | tail) & 0x80808080u) != 0 ? 0x80 : 0;
  }
  uint8_t key_bytes[4];
  Store(key_bytes, key);
  uint8_t seen = 0;
  for (size_t i = 0; i < length; i++) {
    const uint8_t byte = source[i] ^ key_bytes[i];
    destination[i] = byte;
    seen |= byte;
  }
  return seen & 0x80;
}

// Masks from source to destination, which may overlap in any way: the result is as if the source
// had been copied first. Returns the kernel's result.
inline uint8_t Mask(MaskKernel kernel, const uint8_t* source, uint8_t* destination, size_t length, uint32_t key) {
  const uintptr_t from = reinterpret_cast<uintptr_t>(source);
  const uintptr_t to = reinterpret_cast<uintptr_t>(destination);
  if (to > from && to - from < length) {
    // A kernel goes forward, and would overwrite source bytes before it reads them.
    memmove(destination, source, length);
    source = destination;
  }
  return kernel(source, destination, length, key);
}

}  // namespace framemask

#endif  // FRAMEMASK_SRC_MASK_H_
