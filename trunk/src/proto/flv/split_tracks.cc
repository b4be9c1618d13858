#include "proto/flv/split_tracks.h"

#include "media/description.h"
#include "proto/flv/enhanced.h"

namespace weir::flv {
namespace {

constexpr size_t kHeader = 7;  // of a body of one track

}  // namespace

std::vector<Bytes> split_audio_tracks(const media::PacketInfo& info, ByteSpan body) {
    std::vector<Bytes> out;
    if (!info.multitrack || info.kind != media::TrackKind::kAudio) {
        return out;
    }
    ByteReader reader(body);
    (void)skip_mod_ex(reader, reader.u8() & 0x0F);
    const uint8_t both = reader.u8();
    const uint8_t layout = both >> 4;
    const bool many_codecs = layout == kManyTracksManyCodecs;
    if (layout == kOneTrack) {
        return out;
    }
    uint32_t code = many_codecs ? 0 : reader.u32();
    while (reader.ok() && !reader.empty() && out.size() < media::Description::kMaxAudioTracks) {
        code = many_codecs ? reader.u32() : code;
        const uint8_t id = reader.u8();
        const ByteSpan bytes = reader.take(reader.u24());
        if (!reader.ok()) {
            break;
        }
        Bytes& one = out.emplace_back();
        one.reserve(kHeader + bytes.size());
        ByteWriter(one)
            .u8(kAudioExHeader | kAudioMultitrack)
            .u8(static_cast<uint8_t>(kOneTrack << 4 | (both & 0x0F)))
            .u32(code)
            .u8(id)
            .bytes(bytes);
    }
    return out;
}

}  // namespace weir::flv
