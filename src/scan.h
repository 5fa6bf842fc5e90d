// Finds the frames in a chunk of a socket's bytes.
#ifndef FRAMEMASK_SRC_SCAN_H_
#define FRAMEMASK_SRC_SCAN_H_

#include "mask.h"

namespace framemask {

// The bits of `mode`. lib/shared/protocol.js has the same.
constexpr uint32_t kModeMasked = 0x80;  // every frame must be masked, else none may be
constexpr uint32_t kModeRsv1 = 0x40;    // the first frame of a message may have RSV1 set

// An entry of the table has three words: the frame's first byte (FIN, RSV1 to 3, opcode), the index
// of the first byte of its payload, and the index after the last byte. kTableNonAscii is added to
// the first word if the payload of a text or continuation frame has a byte of 128 or more.
constexpr size_t kTableStride = 3;
constexpr uint32_t kTableNonAscii = 0x100;

// Finds the complete frames from `position` on, unmasks their payloads in place and adds an entry
// for each to the table. Stops at the first frame that is not complete, or whose header alone
// breaks a rule of RFC 6455 section 5, and leaves that frame to lib/codec/frame-reader.js. Stops
// after a Close frame, because the rest is ignored. Returns the number of frames, at most
// `capacity`.
size_t Scan(MaskKernel kernel, uint8_t* chunk, size_t length, size_t position, uint32_t mode, uint32_t* table,
            size_t capacity);

}  // namespace framemask

#endif  // FRAMEMASK_SRC_SCAN_H_
