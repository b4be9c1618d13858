#include "proto/rtp/payload_aac.h"

#include <algorithm>
#include <utility>

#include "media/bit_reader.h"

namespace weir::rtp {
namespace {

constexpr size_t kHeadersSize = 4;  // the count of bits and one AU header
constexpr uint16_t kHbrHeaderBits = 16;
constexpr unsigned kHbrIndexBits = 3;

}  // namespace

bool AacPacketizer::packetize(ByteSpan frame, size_t max_payload, PayloadSink& sink) {
    if (frame.empty() || frame.size() > kMaxHbrUnitSize) {
        return false;
    }
    // The same in each piece: RFC 3640 §3.2.1.1, AU-size is that of the whole unit.
    std::array<uint8_t, kHeadersSize> headers{};
    store_u16(headers.data(), kHbrHeaderBits);
    store_u16(headers.data() + 2, static_cast<uint16_t>(frame.size() << kHbrIndexBits));
    const EqualParts cut(frame.size(), max_payload - kHeadersSize);
    for (size_t at = 0; at < frame.size(); at += cut.size) {
        const size_t size = std::min(cut.size, frame.size() - at);
        const std::array<ByteSpan, 2> parts = {headers, frame.subspan(at, size)};
        sink.on_payload(parts, at + size == frame.size());
    }
    return true;
}

FeedStatus AacDepacketizer::feed(ByteSpan payload, const PayloadInfo& info) {
    FeedStatus status = FeedStatus::kTaken;
    if (info.gap) {
        drop_pieces();
        after_loss_ = true;
        status = FeedStatus::kLost;
    }
    if (payload.empty()) {
        return status;
    }
    ByteReader reader(payload);
    if (!read_headers(reader)) {
        return refuse();
    }
    const ByteSpan data = reader.rest();
    if (!size_units(data.size(), info.marker)) {
        return refuse();
    }
    const FeedStatus taken = count_ == 1 && sizes_[0] > data.size()
                                 ? take_piece(data, info)
                                 : take_units(data, info.rtp_time);
    return taken == FeedStatus::kTaken ? status : taken;
}

// RFC 3640 §3.2.1 and §3.2.2: the sizes of the units, and on to the data. False: not of that form.
bool AacDepacketizer::read_headers(ByteReader& payload) {
    const AuHeaderFields& f = fields_;
    count_ = 0;
    const bool any = f.size + f.index + f.index_delta + f.cts_delta + f.dts_delta + f.stream_state +
                         (f.random_access ? 1 : 0) >
                     0;
    if (any) {
        const size_t bits = payload.u16();
        media::BitReader headers(payload.take((bits + 7) / 8));
        while (headers.ok() && headers.position() < bits) {
            if (count_ == kMaxAudioUnits) {
                return false;
            }
            const uint32_t size = headers.bits(f.size);
            const uint32_t index = headers.bits(count_ == 0 ? f.index : f.index_delta);
            // Not used: units of audio are in order, one behind the other.
            for (const uint8_t field : {f.cts_delta, f.dts_delta}) {
                if (field > 0 && headers.flag()) {
                    headers.skip(field);
                }
            }
            headers.skip((f.random_access ? 1U : 0U) + f.stream_state);
            if (size > kMaxAudioUnitSize || (count_ > 0 && index != 0) ||
                headers.position() > bits) {
                return false;
            }
            sizes_[count_++] = static_cast<uint16_t>(size);
        }
        if (!headers.ok() || !payload.ok()) {
            return false;
        }
    }
    if (f.auxiliary_size > 0) {
        // Its bits and those of its size field together are filled up to whole bytes.
        const ByteSpan rest = ByteReader(payload).rest();
        media::BitReader section(rest);
        const uint64_t bits = uint64_t{section.bits(f.auxiliary_size)} + f.auxiliary_size;
        if (!section.ok() || (bits + 7) / 8 > rest.size()) {
            return false;
        }
        payload.skip(static_cast<size_t>((bits + 7) / 8));
    }
    return payload.ok();
}

// Where the headers do not say the sizes.
bool AacDepacketizer::size_units(size_t bytes, bool marker) {
    if (bytes == 0 || bytes > kMaxAudioUnitSize) {
        return false;
    }
    if (fields_.size > 0) {
        return count_ > 0;
    }
    const size_t constant = fields_.constant_size_bytes;
    if (constant == 0) {
        sizes_[0] = static_cast<uint16_t>(bytes);
        count_ = 1;
        return marker;  // of a piece nothing says how much is missing
    }
    if (constant > kMaxAudioUnitSize || bytes / constant > kMaxAudioUnits ||
        (bytes > constant && bytes % constant != 0)) {
        return false;
    }
    count_ = std::max<size_t>(bytes / constant, 1);
    std::fill_n(sizes_.begin(), count_, static_cast<uint16_t>(constant));
    return true;
}

FeedStatus AacDepacketizer::take_piece(ByteSpan piece, const PayloadInfo& info) {
    const size_t whole = sizes_[0];
    FeedStatus status = FeedStatus::kTaken;
    if (whole_size_ != whole || pieces_time_ != info.rtp_time) {
        status = whole_size_ != 0 ? FeedStatus::kLost : status;
        drop_pieces();
        whole_size_ = whole;
        pieces_time_ = info.rtp_time;
    }
    if (piece.size() > whole - pieces_.size()) {
        return refuse();
    }
    pieces_.insert(pieces_.end(), piece.begin(), piece.end());
    if (pieces_.size() == whole) {
        give_unit(pieces_, info.rtp_time);
        pieces_.clear();
        whole_size_ = 0;
    } else if (info.marker) {
        drop_pieces();  // its last piece, and others are missing
        return FeedStatus::kLost;
    }
    return status;
}

FeedStatus AacDepacketizer::take_units(ByteSpan data, uint32_t rtp_time) {
    size_t total = 0;
    for (size_t i = 0; i < count_; i++) {
        total += sizes_[i];
    }
    if (total > data.size()) {
        return refuse();
    }
    const FeedStatus status = whole_size_ != 0 ? FeedStatus::kLost : FeedStatus::kTaken;
    drop_pieces();
    size_t at = 0;
    for (size_t i = 0; i < count_; i++) {
        if (sizes_[i] > 0) {
            give_unit(data.subspan(at, sizes_[i]),
                      rtp_time + static_cast<uint32_t>(i) * unit_ticks_);
        }
        at += sizes_[i];
    }
    return status;
}

FeedStatus AacDepacketizer::refuse() {
    if (whole_size_ == 0) {
        count_dropped();
    }
    drop_pieces();
    after_loss_ = true;
    return FeedStatus::kMalformed;
}

void AacDepacketizer::give_unit(ByteSpan unit, uint32_t rtp_time) {
    Frame frame;
    frame.rtp_time = rtp_time;
    frame.key = true;
    frame.after_loss = std::exchange(after_loss_, false);
    give(std::move(frame), unit);
}

void AacDepacketizer::drop_pieces() {
    if (whole_size_ != 0) {
        count_dropped();
        after_loss_ = true;
        whole_size_ = 0;
        pieces_.clear();
    }
}

}  // namespace weir::rtp
