#include "dispatch.h"

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#define FRAMEMASK_MSVC 1
#endif
#if defined(FRAMEMASK_NEON) && defined(__arm__)
#include <sys/auxv.h>
#endif

namespace framemask {

bool SupportsScalar() { return true; }

#ifdef FRAMEMASK_NEON
bool SupportsNeon() {
#ifdef __arm__
  constexpr unsigned long kNeon = 1u << 12;  // HWCAP_NEON
  return (getauxval(AT_HWCAP) & kNeon) != 0;
#else
  return true;
#endif
}
#endif

#ifdef FRAMEMASK_X86
namespace {

// Not __builtin_cpu_supports: it needs a runtime library that the addon does not link.
struct CpuId {
  uint32_t eax, ebx, ecx, edx;
};

CpuId QueryCpuId(uint32_t leaf) {
  CpuId id;
#ifdef FRAMEMASK_MSVC
  int words[4];
  __cpuidex(words, static_cast<int>(leaf), 0);
  memcpy(&id, words, sizeof id);
#else
  __asm__ volatile("cpuid" : "=a"(id.eax), "=b"(id.ebx), "=c"(id.ecx), "=d"(id.edx) : "a"(leaf), "c"(0));
#endif
  return id;
}

// The registers that the operating system saves on a task switch (XCR0): bit 1 is for SSE, bit 2
// for AVX, bits 5 to 7 for AVX-512.
uint32_t Xcr0() {
  constexpr uint32_t kOsxsave = 1u << 27;
  if ((QueryCpuId(1).ecx & kOsxsave) == 0) return 0;
#ifdef FRAMEMASK_MSVC
  return static_cast<uint32_t>(_xgetbv(0));
#else
  uint32_t eax, edx;
  __asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
  return eax;
#endif
}

bool HasExtended(uint32_t state, uint32_t features) {
  return (Xcr0() & state) == state && QueryCpuId(0).eax >= 7 && (QueryCpuId(7).ebx & features) == features;
}

}  // namespace

bool SupportsSse2() {
  constexpr uint32_t kSse2 = 1u << 26;
  return (QueryCpuId(1).edx & kSse2) != 0;
}

bool SupportsAvx2() {
  constexpr uint32_t kSseAvx = 1u << 1 | 1u << 2;
  constexpr uint32_t kAvx2 = 1u << 5;
  return HasExtended(kSseAvx, kAvx2);
}

#ifdef FRAMEMASK_AVX512
bool SupportsAvx512() {
  constexpr uint32_t kSseAvxAvx512 = 1u << 1 | 1u << 2 | 7u << 5;
  constexpr uint32_t kFoundation = 1u << 16, kByteWord = 1u << 30, kVectorLength = 1u << 31;
  return HasExtended(kSseAvxAvx512, kFoundation | kByteWord | kVectorLength);
}
#endif
#endif

}  // namespace framemask
