#include "media/audio_length.h"

#include "media/aac.h"
#include "media/ac3.h"
#include "media/mp3.h"
#include "media/opus.h"

namespace weir::media {
namespace {

constexpr uint32_t kG711Hz = 8'000;

// One body may hold several frames, each with a header that says where the next one is.
template <typename Parse>
AudioLength length_of_all(ByteSpan frame, Parse parse) {
    AudioLength length;
    while (const auto header = parse(frame)) {
        if (header->size == 0 || (length.rate_hz != 0 && length.rate_hz != header->sample_rate)) {
            break;
        }
        length.samples += header->samples;
        length.rate_hz = header->sample_rate;
        if (header->size >= frame.size()) {
            break;
        }
        frame = frame.subspan(header->size);
    }
    return length;
}

AudioLength ac3_length(ByteSpan frame) {
    return length_of_all(frame, [](ByteSpan at) {
        auto header = ac3::parse_header(at);
        if (header && header->dependent) {
            header->samples = 0;  // of the frame before it
        }
        return header;
    });
}

}  // namespace

AudioLength audio_length(Codec codec, ByteSpan config, ByteSpan frame) {
    switch (codec) {
        case Codec::kAac: {
            const auto parsed = aac::parse_config(config);
            return parsed ? AudioLength{parsed->frame_samples, parsed->core_rate} : AudioLength();
        }
        case Codec::kMp3:
            return length_of_all(frame, [](ByteSpan at) { return mp3::parse_header(at); });
        case Codec::kOpus: return {opus::packet_samples(frame).value_or(0), opus::kClockHz};
        case Codec::kAc3:
        case Codec::kEac3: return ac3_length(frame);
        case Codec::kG711A:
        case Codec::kG711U: return {static_cast<uint32_t>(frame.size()), kG711Hz};
        default: return {};
    }
}

}  // namespace weir::media
