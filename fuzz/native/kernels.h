// The kernels that the processor runs, for the targets to compare with each other and with a byte
// loop.
#ifndef FRAMEMASK_FUZZ_NATIVE_KERNELS_H_
#define FRAMEMASK_FUZZ_NATIVE_KERNELS_H_

#include <stdio.h>
#include <stdlib.h>

#include <memory>
#include <vector>

#include "../../src/dispatch.h"
#include "../../src/mask.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define FRAMEMASK_POISON(address, size) __asan_poison_memory_region(address, size)
#define FRAMEMASK_UNPOISON(address, size) __asan_unpoison_memory_region(address, size)
#endif
#endif
#ifndef FRAMEMASK_POISON
#define FRAMEMASK_POISON(address, size)
#define FRAMEMASK_UNPOISON(address, size)
#endif

struct Kernel {
  const char* name;
  framemask::MaskKernel mask;
};

inline const std::vector<Kernel>& Kernels() {
  static const std::vector<Kernel> kernels = [] {
    std::vector<Kernel> found;
    if (framemask::SupportsScalar()) found.push_back({"scalar", framemask::MaskScalar});
#ifdef FRAMEMASK_X86
    if (framemask::SupportsSse2()) found.push_back({"sse2", framemask::MaskSse2});
    if (framemask::SupportsAvx2()) found.push_back({"avx2", framemask::MaskAvx2});
#endif
#ifdef FRAMEMASK_AVX512
    if (framemask::SupportsAvx512()) found.push_back({"avx512", framemask::MaskAvx512});
#endif
#ifdef FRAMEMASK_NEON
    if (framemask::SupportsNeon()) found.push_back({"neon", framemask::MaskNeon});
#endif
    return found;
  }();
  return kernels;
}

// Memory on the heap that ends where its last byte does, so that a sanitizer sees every access
// beyond it. `offset` bytes before it, which may not be touched either, give it another alignment.
class Memory {
 public:
  Memory(size_t length, size_t offset) : offset_(offset), bytes_(static_cast<uint8_t*>(malloc(offset + length))) {
    if (bytes_ == nullptr) abort();
    FRAMEMASK_POISON(bytes_, offset_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    FRAMEMASK_UNPOISON(bytes_, offset_);
    free(bytes_);
  }
  [[nodiscard]] uint8_t* get() const { return bytes_ + offset_; }

 private:
  size_t offset_;
  uint8_t* bytes_;
};

[[noreturn]] inline void Fail(const char* kernel, const char* what) {
  fprintf(stderr, "%s: %s\n", kernel, what);
  abort();
}

#endif  // FRAMEMASK_FUZZ_NATIVE_KERNELS_H_
