// FLV: the reader gives the same tags for whole and cut input; whatever a body is, what is said of
// it lies inside it; a packet that is made of what was read is read as the same; and what a plain
// player gets of it has no tracks and is plain itself. What a message of several audio tracks is
// taken apart into is of one track each.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "proto/flv/packet_maker.h"
#include "proto/flv/plain_form.h"
#include "proto/flv/reader.h"
#include "proto/flv/split_tracks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data,
                                      size_t size);  // NOLINT(readability-identifier-naming)

namespace {

using weir::flv::Tag;
using weir::flv::TagReader;

// Tags and whether the input ended in an error.
std::pair<std::vector<Tag>, bool> read_all(weir::ByteSpan bytes, size_t step) {
    TagReader reader(1 << 20);
    std::vector<Tag> tags;
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(step, bytes.size()))) {
        for (weir::ByteSpan piece = bytes.first(std::min(step, bytes.size())); !piece.empty();) {
            piece = piece.subspan(reader.feed(piece));
            Tag tag;
            const TagReader::Status status = reader.next(tag);
            if (status == TagReader::Status::kError) {
                return {std::move(tags), true};
            }
            if (status == TagReader::Status::kTag) {
                tags.push_back(std::move(tag));
            }
        }
    }
    return {std::move(tags), false};
}

void check_made(const weir::media::PacketInfo& info, weir::ByteSpan payload) {
    const auto made = weir::flv::make_packet(info, 0, payload);
    WEIR_CHECK(!made || made->info().payload_offset == weir::flv::body_header_size(info));
    if (!made || made->body().empty()) {
        return;
    }
    WEIR_CHECK(std::ranges::equal(made->payload(), payload));
    const auto again = weir::flv::parse_tag_body(info.kind, made->body());
    WEIR_CHECK(again && again->codec == info.codec && again->key == info.key &&
               again->config == info.config && again->end == info.end &&
               again->metadata == info.metadata && again->multitrack == info.multitrack &&
               again->track_id == info.track_id && again->composition_ms == info.composition_ms &&
               again->payload_offset == made->info().payload_offset);
}

void check_plain(const weir::media::PacketInfo& info, weir::ByteSpan body) {
    const weir::media::PacketRef packet =
        weir::make_ref<weir::media::MediaPacket>(info, 0, weir::Bytes(body.begin(), body.end()));
    const weir::media::PacketRef plain = weir::flv::plain_form(packet, info.track_id);
    if (plain) {
        const weir::media::PacketInfo& made = plain->info();
        WEIR_CHECK(!made.multitrack && made.track_id == 0 && made.kind == info.kind);
        WEIR_CHECK(made.payload_offset <= plain->body().size());
        WEIR_CHECK(weir::flv::plain_form(plain, 0) == plain);
    }
}

void check_split(const weir::media::PacketInfo& info, weir::ByteSpan body) {
    for (const weir::Bytes& one : weir::flv::split_audio_tracks(info, body)) {
        const auto made = weir::flv::parse_tag_body(info.kind, one);
        WEIR_CHECK(made && made->multitrack && one.size() <= body.size());
        WEIR_CHECK(weir::flv::split_audio_tracks(*made, one).empty());
    }
}

void check_body(weir::media::TrackKind kind, weir::ByteSpan body) {
    const auto info = weir::flv::parse_tag_body(kind, body);
    if (info) {
        WEIR_CHECK(info->kind == kind && info->payload_offset <= body.size());
        WEIR_CHECK(!info->key || (!info->config && !info->end && !info->metadata));
        check_made(*info, body.subspan(info->payload_offset));
        check_plain(*info, body);
        check_split(*info, body);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    for (const auto kind : {weir::media::TrackKind::kAudio, weir::media::TrackKind::kVideo,
                            weir::media::TrackKind::kData}) {
        check_body(kind, {data, size});
    }
    if (size == 0) {
        return 0;
    }
    const weir::ByteSpan bytes(data + 1, size - 1);
    const auto [whole, failed] = read_all(bytes, SIZE_MAX);
    const auto [cut, cut_failed] = read_all(bytes, size_t{data[0]} + 1);
    WEIR_CHECK(failed == cut_failed);
    WEIR_CHECK(std::ranges::equal(whole, cut, [](const Tag& a, const Tag& b) {
        return a.type == b.type && a.timestamp == b.timestamp && a.body == b.body;
    }));
    for (const Tag& tag : whole) {
        if (const auto kind = weir::flv::track_kind(tag.type)) {
            check_body(*kind, tag.body);
        }
    }
    return 0;
}
