// One chunk of a socket's bytes to a table of the frames in it.
#ifndef FRAMEMASK_SRC_SCAN_H_
#define FRAMEMASK_SRC_SCAN_H_

#include "mask.h"

namespace framemask {

// What a scan accepts, bits of `mode`; lib/shared/protocol.js has the same.
constexpr uint32_t kModeMasked = 0x80;  // every frame must be masked (a server's side), else none may be
constexpr uint32_t kModeRsv1 = 0x40;    // the first frame of a text or binary message may have RSV1 set

// One frame takes three words of the table: its first byte (FIN, RSV1 to 3, opcode) with kNonAscii if the payload of a
// text or continuation frame has a byte of 128 or more, the index of the first byte of its payload, and that after the
// last.
constexpr size_t kTableStride = 3;
constexpr uint32_t kTableNonAscii = 0x100;

// Finds, from `position` on, the frames that lie in the chunk as a whole, unmasks their payloads in place, and notes
// them in the table. Stops, having changed nothing of it, at the first frame that is not complete, or that breaks a
// rule of RFC 6455 section 5 which its header alone can break: lib/codec/decoder.js looks at that one. Stops after a Close
// frame, for nothing that follows it counts. Returns the number of frames, at most `capacity`.
size_t Scan(MaskKernel kernel, uint8_t* chunk, size_t length, size_t position, uint32_t mode, uint32_t* table,
            size_t capacity);

}  // namespace framemask

#endif  // FRAMEMASK_SRC_SCAN_H_
