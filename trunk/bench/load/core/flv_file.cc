#include "bench/load/core/flv_file.h"

#include <algorithm>

#include "proto/flv/metadata.h"
#include "proto/flv/tag.h"

namespace weir::load {
namespace {

using media::TrackKind;

constexpr size_t kBlockSize = 64 * 1024;

}  // namespace

Error FlvFileReader::read() {
    const ByteSource& source = *file_.source_;
    Bytes block(kBlockSize);
    flv::TagReader reader(kMaxFileFrameSize);
    flv::Tag tag;
    uint64_t used = 0;         // bytes of the file that the reader has taken
    uint64_t whole_until = 0;  // behind the last complete tag
    for (uint64_t at = 0; at < source.size();) {
        std::span<uint8_t> part =
            std::span(block).first(std::min<uint64_t>(kBlockSize, source.size() - at));
        WEIR_TRY(source.read(at, part));
        at += part.size();
        for (ByteSpan rest = part; !rest.empty();) {
            size_t taken = reader.feed(rest);
            rest = rest.subspan(taken);
            used += taken;
            flv::TagReader::Status status = reader.next(tag);
            if (status == flv::TagReader::Status::kError) {
                return reader.take_error().with_context(
                    fmt::format("FLV tag at byte {}", whole_until));
            }
            if (status == flv::TagReader::Status::kTag) {
                WEIR_TRY(take(tag, used - flv::kTagTrailerSize - tag.body.size()));
                whole_until = used;
            }
        }
    }
    bool only_header = whole_until == 0 && used <= flv::kFileHeaderSize;
    if (used != whole_until && !only_header) {
        return make_error(ErrorCode::kMalformed,
                          "at byte {}: expected a whole FLV tag, the file ends {} bytes later",
                          whole_until, used - whole_until);
    }
    return {};
}

Error FlvFileReader::take(flv::Tag& tag, uint64_t body_at) {
    std::optional<TrackKind> kind = flv::track_kind(tag.type);
    std::optional<media::PacketInfo> info =
        kind ? flv::parse_tag_body(*kind, tag.body) : std::nullopt;
    if (!info || info->end || info->multitrack) {
        return {};  // nothing that a stream of two tracks needs
    }
    if (*kind == TrackKind::kData) {
        if (info->metadata && file_.description_.width == 0) {
            file_.description_ = flv::parse_metadata(tag.body);
        }
        return {};
    }
    bool is_video = *kind == TrackKind::kVideo;
    FileTrack& track = is_video ? file_.video_ : file_.audio_;
    if (info->config) {
        return take_config(track, *kind, tag, body_at);
    }
    if (info->metadata || info->codec == media::Codec::kUnknown) {
        return {};
    }
    if (file_.frames_.size() == kMaxFileFrames) {
        return make_error(ErrorCode::kLimit, "more than {} frames", kMaxFileFrames);
    }
    int64_t& last_ms = last_ms_[is_video ? 1 : 0];
    if (last_ms >= 0 && int64_t{tag.timestamp} < last_ms) {
        return make_error(
            ErrorCode::kMalformed,
            "{} tag at byte {}: its time is {} ms, expected at least the {} ms of the "
            "one before",
            media::to_string(*kind), body_at - flv::kTagHeaderSize, tag.timestamp, last_ms);
    }
    last_ms = tag.timestamp;
    track.present = true;
    track.codec = info->codec;
    FileFrame frame;
    frame.offset = body_at;
    frame.size = static_cast<uint32_t>(tag.body.size());
    frame.time_ms = tag.timestamp;
    frame.composition_ms = info->composition_ms;
    frame.kind = *kind;
    frame.key = info->key;
    file_.frames_.push_back(frame);
    return {};
}

Error FlvFileReader::take_config(FileTrack& track,
                                 TrackKind kind,
                                 flv::Tag& tag,
                                 uint64_t body_at) {
    if (track.config.empty()) {
        track.config = std::move(tag.body);
    } else if (track.config != tag.body) {
        return make_error(ErrorCode::kUnsupported,
                          "{} tag at byte {}: another codec configuration than at the beginning; "
                          "expected one for the whole file",
                          media::to_string(kind), body_at - flv::kTagHeaderSize);
    }
    return {};
}

}  // namespace weir::load
