// How long an encoded audio frame sounds, as its codec says.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "media/codec.h"

namespace weir::media {

struct AudioLength {
    uint32_t samples = 0;  // per channel; 0: not known
    uint32_t rate_hz = 0;  // of these samples
};

// `config`: the codec's configuration (AAC: AudioSpecificConfig), empty when there is none. Not
// known of codecs whose frames do not say it in their first bytes.
AudioLength audio_length(Codec codec, ByteSpan config, ByteSpan frame);

}  // namespace weir::media
