// Handshake packets of SRT, as far as the memory of a connection depends on them. Pure.
//
// libsrt makes its list of lost packets for the window that the peer names in its handshake, which
// may be any number (1.5.1: 24 bytes for each packet), and no option of libsrt limits that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/clock.h"

namespace weir::io {

inline constexpr size_t kSrtHeader = 16;  // bytes before the body of a packet

// draft-sharabayko-srt-01 3.2.1.
struct SrtGreeting {
    bool to_listener = false;  // its destination is no socket yet
    bool conclusion = false;   // the second packet of a caller, or its answer
    uint32_t window = 0;       // packets that the peer says it can take
    Millis latency{0};         // that it asks for; the longer one of both directions

    // None: another packet, or shorter than a handshake.
    static std::optional<SrtGreeting> parse(ByteSpan header, ByteSpan body);
};

// The body of a handshake names `packets` from now on.
void set_srt_window(std::span<uint8_t> body, uint32_t packets);

}  // namespace weir::io
