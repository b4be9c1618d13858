// Closed captions within H.264 and HEVC: CEA-608 and CEA-708 in SEI messages, as ATSC A/53 Part 4
// §6.2.3 carries them (ITU-T T.35 user data, "GA94"). Says which channels there are, and does not
// decode them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "media/codec.h"

namespace weir::media {

struct CaptionChannels {
    static constexpr uint8_t kMaxServices = 6;  // of CEA-708 that have a number in each block

    bool first_field = false;   // CEA-608, CC1
    bool second_field = false;  // CEA-608, CC3
    uint8_t services = 0;       // CEA-708, bit n for service n + 1

    bool any() const { return first_field || second_field || services != 0; }

    // "CC1", "CC3", "SERVICE1", ... (INSTREAM-ID of HLS).
    std::vector<std::string> names() const;

    bool operator==(const CaptionChannels&) const = default;
};

// Bytes of the lengths before NAL units, by the configuration of the codec; 4 where it says
// nothing.
size_t nal_length_size(Codec codec, ByteSpan config);

// Adds what the frame has to `out`. `frame`: length-prefixed NAL units, `length_size` bytes each
// length. Nothing is added for other codecs, and for messages that are not whole.
void find_captions(Codec codec, ByteSpan frame, size_t length_size, CaptionChannels& out);

}  // namespace weir::media
