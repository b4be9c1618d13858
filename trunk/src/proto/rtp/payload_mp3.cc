#include "proto/rtp/payload_mp3.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "media/mp3.h"

namespace weir::rtp {
namespace {

namespace mp3 = media::mp3;

constexpr size_t kOffsetField = 2;
constexpr size_t kHeaderSize = 4;

// Whole frames that fit into a packet together, at least one; the first may be larger than `room`.
ByteSpan take_group(ByteSpan& rest, size_t room) {
    size_t size = rest.size();
    if (size > room) {
        size_t end = 0;
        while (end < rest.size()) {
            const std::optional<mp3::FrameHeader> header = mp3::parse_header(rest.subspan(end));
            const size_t next = header ? std::min(end + header->size, rest.size()) : rest.size();
            if (end > 0 && next > room) {
                break;
            }
            end = next;
            if (end > room) {
                break;
            }
        }
        size = end;
    }
    const ByteSpan group = rest.first(size);
    rest = rest.subspan(size);
    return group;
}

}  // namespace

bool Mp3Packetizer::packetize(ByteSpan frame, size_t max_payload, PayloadSink& sink) {
    if (!mp3::parse_header(frame) || frame.size() > UINT16_MAX) {
        return false;
    }
    const size_t room = max_payload - kHeaderSize;
    while (!frame.empty()) {
        const ByteSpan group = take_group(frame, room);
        const EqualParts cut(group.size(), room);
        for (size_t at = 0; at < group.size(); at += cut.size) {
            std::array<uint8_t, kHeaderSize> header{};
            store_u16(header.data() + kOffsetField, static_cast<uint16_t>(at));
            const size_t size = std::min(cut.size, group.size() - at);
            const std::array<ByteSpan, 2> parts = {header, group.subspan(at, size)};
            sink.on_payload(parts, frame.empty() && at + size == group.size());
        }
    }
    return true;
}

FeedStatus Mp3Depacketizer::feed(ByteSpan payload, const PayloadInfo& info) {
    FeedStatus status = FeedStatus::kTaken;
    if (info.gap) {
        drop_pieces();
        after_loss_ = true;
        status = FeedStatus::kLost;
    }
    if (payload.empty()) {
        return status;
    }
    if (payload.size() <= kHeaderSize) {
        return refuse();
    }
    ByteReader reader(payload);
    reader.skip(kOffsetField);  // must be zero, and some senders do not care
    const size_t offset = reader.u16();
    const FeedStatus taken = offset == 0 ? take_frames(reader.rest(), info.rtp_time)
                                         : take_piece(reader.rest(), offset, info.rtp_time);
    return taken == FeedStatus::kTaken ? status : taken;
}

FeedStatus Mp3Depacketizer::take_frames(ByteSpan data, uint32_t rtp_time) {
    const FeedStatus status = pieces_.empty() ? FeedStatus::kTaken : FeedStatus::kLost;
    drop_pieces();
    uint32_t time = rtp_time;
    for (ByteSpan rest = data; !rest.empty();) {
        const std::optional<mp3::FrameHeader> header = mp3::parse_header(rest);
        if (!header) {
            return refuse();
        }
        if (header->size > rest.size()) {
            if (rest.size() != data.size()) {
                return refuse();  // RFC 2250 §3.5: a piece is alone in its packet
            }
            pieces_.assign(rest.begin(), rest.end());
            whole_size_ = header->size;
            pieces_time_ = time;
            return status;
        }
        give_frame(rest.first(header->size), time);
        rest = rest.subspan(header->size);
        time += static_cast<uint32_t>(uint64_t{header->samples} * clock_hz_ / header->sample_rate);
    }
    return status;
}

FeedStatus Mp3Depacketizer::take_piece(ByteSpan piece, size_t offset, uint32_t rtp_time) {
    if (pieces_.empty() || offset != pieces_.size() || rtp_time != pieces_time_) {
        // What came before it is lost.
        if (pieces_.empty() && !std::exchange(after_loss_, true)) {
            count_dropped();
        }
        drop_pieces();
        return FeedStatus::kLost;
    }
    if (piece.size() > whole_size_ - offset) {
        return refuse();
    }
    pieces_.insert(pieces_.end(), piece.begin(), piece.end());
    if (pieces_.size() == whole_size_) {
        give_frame(pieces_, rtp_time);
        pieces_.clear();
    }
    return FeedStatus::kTaken;
}

FeedStatus Mp3Depacketizer::refuse() {
    if (pieces_.empty()) {
        count_dropped();
    }
    drop_pieces();
    after_loss_ = true;
    return FeedStatus::kMalformed;
}

void Mp3Depacketizer::give_frame(ByteSpan bytes, uint32_t rtp_time) {
    Frame frame;
    frame.rtp_time = rtp_time;
    frame.key = true;
    frame.after_loss = std::exchange(after_loss_, false);
    give(std::move(frame), bytes);
}

void Mp3Depacketizer::drop_pieces() {
    if (!pieces_.empty()) {
        count_dropped();
        after_loss_ = true;
        pieces_.clear();
    }
}

}  // namespace weir::rtp
