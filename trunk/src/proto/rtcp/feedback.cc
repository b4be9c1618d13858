#include "proto/rtcp/feedback.h"

#include <string_view>

namespace weir::rtcp {
namespace {

FeedbackSources read_sources(ByteReader& reader) {
    FeedbackSources sources;
    sources.sender_ssrc = reader.u32();
    sources.media_ssrc = reader.u32();
    return sources;
}

}  // namespace

std::optional<NackView> parse_nack(const PacketView& packet) {
    if (!packet.is_feedback(PacketType::kTransportFeedback, kGenericNack)) {
        return std::nullopt;
    }
    ByteReader reader(packet.body);
    NackView nack{read_sources(reader), reader.rest()};
    if (!reader.ok() || nack.entries.empty()) {
        return std::nullopt;
    }
    return nack;
}

std::optional<FeedbackSources> parse_picture_loss(const PacketView& packet) {
    if (!packet.is_feedback(PacketType::kPayloadFeedback, kPictureLoss)) {
        return std::nullopt;
    }
    ByteReader reader(packet.body);
    const FeedbackSources sources = read_sources(reader);
    return reader.ok() ? std::optional(sources) : std::nullopt;
}

std::optional<uint8_t> find_full_intra_request(const PacketView& packet, uint32_t ssrc) {
    if (!packet.is_feedback(PacketType::kPayloadFeedback, kFullIntraRequest)) {
        return std::nullopt;
    }
    ByteReader reader(packet.body);
    read_sources(reader);
    while (reader.ok() && reader.remaining() >= kFirEntrySize) {
        const uint32_t source = reader.u32();
        const uint8_t number = reader.u8();
        reader.skip(3);
        if (source == ssrc) {
            return number;
        }
    }
    return std::nullopt;
}

std::optional<BitrateLimit> parse_bitrate_limit(const PacketView& packet) {
    if (!packet.is_feedback(PacketType::kPayloadFeedback, kApplicationLayerFeedback)) {
        return std::nullopt;
    }
    ByteReader reader(packet.body);
    BitrateLimit limit;
    limit.sender_ssrc = read_sources(reader).sender_ssrc;
    if (as_text(reader.take(4)) != "REMB") {
        return std::nullopt;
    }
    const uint8_t count = reader.u8();
    const uint32_t rate = reader.u24();
    const uint64_t mantissa = rate & 0x3FFFFU;
    const uint32_t exponent = rate >> 18U;
    limit.bits_per_second = mantissa << exponent;
    if (limit.bits_per_second >> exponent != mantissa) {
        limit.bits_per_second = UINT64_MAX;
    }
    limit.sources = reader.take(size_t{4} * count);
    return reader.ok() ? std::optional(limit) : std::nullopt;
}

}  // namespace weir::rtcp
