// Which kernels the processor and the operating system support.
#ifndef FRAMEMASK_SRC_DISPATCH_H_
#define FRAMEMASK_SRC_DISPATCH_H_

#include "mask.h"

namespace framemask {

bool RunsScalar();
#ifdef FRAMEMASK_X86
bool RunsSse2();
bool RunsAvx2();
#endif
#ifdef FRAMEMASK_AVX512
bool RunsAvx512();
#endif
#ifdef FRAMEMASK_NEON
bool RunsNeon();
#endif

}  // namespace framemask

#endif  // FRAMEMASK_SRC_DISPATCH_H_
