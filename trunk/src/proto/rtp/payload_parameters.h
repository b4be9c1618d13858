// What the description of a source (SDP) says of a payload format beside its codec. The defaults
// are those of most sources.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace weir::rtp {

// A codec of audio may have more than one payload format.
enum class AudioFraming : uint8_t {
    kUsual,  // AAC: mpeg4-generic (RFC 3640); MP3: MPA (RFC 2250)
    kLatm,   // AAC: MP4A-LATM (RFC 6416)
    kAdu,    // MP3: mpa-robust (RFC 5219)
};

// The fields of an AU header in bits, RFC 3640 §3.2.1 and §4.1; the defaults are those of AAC-hbr
// (§3.3.6). None is over kMaxAuField.
inline constexpr uint32_t kMaxAuField = 32;

struct AuHeaderFields {
    uint8_t size = 13;
    uint8_t index = 3;
    uint8_t index_delta = 3;
    uint8_t cts_delta = 0;  // each of these two has a flag before it
    uint8_t dts_delta = 0;
    uint8_t stream_state = 0;
    uint8_t auxiliary_size = 0;  // of the section behind the headers
    bool random_access = false;
    uint32_t constant_size_bytes = 0;  // of every unit; 0: `size` says it

    bool operator==(const AuHeaderFields&) const = default;
};

struct PayloadParameters {
    AudioFraming audio = AudioFraming::kUsual;
    uint32_t clock_hz = 0;       // of the RTP times; 0: the usual one of the format
    uint32_t unit_ticks = 1024;  // AAC by RFC 3640: a frame in units of that clock
    AuHeaderFields au_header;
    Bytes latm_config;  // StreamMuxConfig of the description; empty: the packets bring it along
    bool latm_in_band = false;            // cpresent
    bool decoding_order_numbers = false;  // HEVC: packets have them (sprop-max-don-diff is not 0)
    // H.264: a picture at a recovery point that begins with an I slice is a key frame, like an IDR
    // picture.
    bool recovery_points = false;

    bool operator==(const PayloadParameters&) const = default;
};

}  // namespace weir::rtp
