// The base64 text that a client sends in the body of its POST when RTSP is tunnelled through HTTP:
// as bytes, whatever the input is cut into. What comes out is for a ConnectionReader. Sans-IO.
//
// Each request is encoded by itself, so padding may stand anywhere in the stream; line ends and
// blanks are skipped. Bits behind the end of a padded group are ignored.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace weir::rtsp {

class TunnelDecoder {
  public:
    // Appends what `text` gives: at most three bytes for four of the input, and one quantum that
    // was begun before. False: a character that is no base64, or padding in a wrong place; nothing
    // is taken from then on.
    bool feed(ByteSpan text, Bytes& out);

  private:
    bool take(uint8_t c, Bytes& out);

    uint32_t bits_ = 0;
    uint8_t count_ = 0;    // characters of the current group, padding included
    uint8_t padding_ = 0;  // of them
    bool failed_ = false;
};

}  // namespace weir::rtsp
