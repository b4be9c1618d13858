// Framing: for players whose bytes need a header before each write of the log (WebSocket frames,
// HTTP chunks). Made by their protocol; a player of plain bytes has none.
//
// A header says how many bytes follow. Until they have gone out the frame is open, and nothing else
// may be sent. Never yields.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weir::net {

class Framing {
  public:
    static constexpr size_t kMaxHeader = 16;

    Framing() = default;
    Framing(const Framing&) = delete;
    Framing& operator=(const Framing&) = delete;
    virtual ~Framing() = default;

    // Writes the header of a frame of `payload` bytes, at least 1, to `out`; gives its size, 1 to
    // kMaxHeader.
    virtual size_t write_header(uint64_t payload, uint8_t* out) = 0;

    // Bytes of the log that the open frame still needs; 0: none is open.
    uint64_t open_bytes() const { return open_bytes_; }

    // The first byte of a header has gone out.
    void open(uint64_t payload) { open_bytes_ = payload; }

    void take(uint64_t sent) { open_bytes_ -= std::min(open_bytes_, sent); }

  private:
    uint64_t open_bytes_ = 0;
};

}  // namespace weir::net
