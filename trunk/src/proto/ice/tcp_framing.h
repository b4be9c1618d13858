// The framing of RFC 4571 that ICE over TCP uses (RFC 6544 §3): each datagram (STUN, DTLS, SRTP)
// behind its length in 16 bits.
//
//     FrameReader reader;
//     while (!bytes.empty()) {
//         bytes = bytes.subspan(reader.feed(bytes));
//         while ((status = reader.next(datagram)) == kDatagram) { use it before the next feed }
//     }
//
// A datagram that lies whole in the input is given as a view of it, without a copy; only one that
// the input cuts is collected here, and its buffer is kept for the next. Empty frames are skipped.
// Cutting the input anywhere gives the same datagrams.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace weir::ice {

inline constexpr size_t kFrameHeaderBytes = 2;
inline constexpr size_t kMaxFrameBytes = 65535;

// A peer sends what fits a datagram of its path: 1,200 bytes and a little.
inline constexpr size_t kDefaultFrameLimit = 4096;

// Writes the header of a frame for so many bytes, at most kMaxFrameBytes.
inline void write_frame_header(uint8_t* out, size_t datagram_bytes) {
    store_u16(out, static_cast<uint16_t>(datagram_bytes));
}

class FrameReader {
  public:
    enum class Status : uint8_t { kDatagram, kNeedMore, kError };

    explicit FrameReader(size_t limit = kDefaultFrameLimit) : limit_(limit) {}

    // Consumes up to the end of the next datagram and says how much that was; 0 while one waits in
    // next(), or after an error.
    size_t feed(ByteSpan bytes);

    // kDatagram sets `out`; valid until the next feed(), and no longer than the bytes that were
    // fed. kError: a frame over the limit; there is no way back, close the connection.
    Status next(ByteSpan& out);

    // Bytes of a datagram that is not complete.
    size_t partial_bytes() const { return partial_.size(); }

  private:
    size_t limit_;
    size_t size_ = 0;          // of the frame in progress, when its header is complete
    uint8_t header_[2] = {};   // as far as it has come
    uint8_t header_size_ = 0;  // bytes of it
    bool ready_ = false;       // a datagram waits for next()
    bool failed_ = false;
    Bytes partial_;        // the datagram in progress
    ByteSpan ready_view_;  // of partial_, or of what was fed
};

}  // namespace weir::ice
