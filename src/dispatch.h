// Which kernels the processor and the operating system support.
#ifndef FRAMEMASK_SRC_DISPATCH_H_
#define FRAMEMASK_SRC_DISPATCH_H_

#include "mask.h"

namespace framemask {

bool SupportsScalar();
#ifdef FRAMEMASK_X86
bool SupportsSse2();
bool SupportsAvx2();
#endif
#ifdef FRAMEMASK_AVX512
bool SupportsAvx512();
#endif
#ifdef FRAMEMASK_NEON
bool SupportsNeon();
#endif

}  // namespace framemask

#endif  // FRAMEMASK_SRC_DISPATCH_H_
