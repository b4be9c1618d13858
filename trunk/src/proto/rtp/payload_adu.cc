#include "proto/rtp/payload_adu.h"

#include <algorithm>
#include <utility>

#include "media/mp3.h"
#include "proto/rtp/payload_mp3.h"

namespace weir::rtp {
namespace {

namespace mp3 = media::mp3;

constexpr uint8_t kContinues = 0x80;  // C
constexpr uint8_t kLong = 0x40;       // T
constexpr uint8_t kSizeBits = 0x3F;
constexpr uint8_t kNoCrcBit = 0x01;  // of the second byte of a header
constexpr size_t kCrcSize = 2;

struct Descriptor {
    size_t size = 0;  // of the whole unit
    bool continues = false;
};

Descriptor read_descriptor(ByteReader& reader) {
    const uint8_t first = reader.u8();
    Descriptor out;
    out.continues = (first & kContinues) != 0;
    out.size = first & kSizeBits;
    if ((first & kLong) != 0) {
        out.size = out.size << 8U | reader.u8();
    }
    return out;
}

size_t head_size(const mp3::FrameHeader& header) {
    return mp3::kHeaderSize + (header.has_crc ? kCrcSize : 0) + header.side_info_size();
}

}  // namespace

bool AduFrames::push(ByteSpan adu, uint32_t rtp_time, uint32_t clock_hz, uint32_t& ticks) {
    const std::optional<mp3::FrameHeader> header = mp3::parse_header(adu);
    if (!header || adu.size() < head_size(*header) || header->size < head_size(*header)) {
        return false;
    }
    const ByteSpan head = adu.first(head_size(*header));
    const ByteSpan main = adu.subspan(head.size());
    const size_t room = header->size - head.size();
    ticks = static_cast<uint32_t>(uint64_t{header->samples} * clock_hz / header->sample_rate);
    // main_data_begin is the first field of the side information: 9 bits, or 8 of MPEG 2.
    const ByteSpan side = head.subspan(head.size() - header->side_info_size());
    const size_t begin = header->mpeg1 ? size_t{side[0]} << 1U | side[1] >> 7U : side[0];
    if (main.size() > begin + room || !make_room(head, begin, rtp_time, ticks)) {
        return false;
    }
    const size_t start = data_.size() - begin;
    data_.resize(data_.size() + room);
    std::copy(main.begin(), main.end(), data_.begin() + static_cast<std::ptrdiff_t>(start));
    used_ = start + main.size();
    waiting_.push_back({Bytes(head.begin(), head.end()), room, rtp_time});
    return true;
}

// Silent frames (side information of zeros) in front of a unit whose data begins where that of
// others is, or before all that waits.
bool AduFrames::make_room(ByteSpan head, size_t begin, uint32_t rtp_time, uint32_t ticks) {
    Waiting silent;
    silent.head.assign(head.begin(), head.end());
    std::fill(silent.head.begin() + mp3::kHeaderSize, silent.head.end(), uint8_t{0});
    silent.head[1] |= kNoCrcBit;
    const std::optional<mp3::FrameHeader> header = mp3::parse_header(silent.head);
    silent.head.resize(head_size(*header));
    silent.room = header->size - silent.head.size();
    const size_t taken = used_ + begin;
    const size_t missing = taken > data_.size() ? taken - data_.size() : 0;
    if (missing > silent.room * kMaxSilentFrames) {
        return false;
    }
    const size_t count = missing == 0 ? 0 : (missing + silent.room - 1) / silent.room;
    for (size_t left = count; left > 0; left--) {
        silent.rtp_time = rtp_time - static_cast<uint32_t>(left) * ticks;
        waiting_.push_back(silent);
        data_.resize(data_.size() + silent.room);
    }
    return true;
}

bool AduFrames::next(Mp3Frame& out) {
    if (waiting_.empty()) {
        return false;
    }
    Waiting& first = waiting_.front();
    if (first.room > used_ && first.room + kMaxMainDataBegin > data_.size()) {
        return false;
    }
    const auto end = data_.begin() + static_cast<std::ptrdiff_t>(first.room);
    out.data = std::move(first.head);
    out.data.insert(out.data.end(), data_.begin(), end);
    out.rtp_time = first.rtp_time;
    data_.erase(data_.begin(), end);
    used_ -= std::min(used_, first.room);
    waiting_.pop_front();
    return true;
}

AduDepacketizer::AduDepacketizer(const PayloadParameters& parameters, size_t reserved_front)
    : Depacketizer(reserved_front),
      clock_hz_(parameters.clock_hz == 0 ? kMpaClockHz : parameters.clock_hz) {}

FeedStatus AduDepacketizer::feed(ByteSpan payload, const PayloadInfo& info) {
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
    const Descriptor first = read_descriptor(reader);
    if (!reader.ok() || reader.empty() || first.size == 0) {
        return refuse();
    }
    const bool piece = first.continues || first.size > reader.remaining();
    const FeedStatus taken =
        piece ? take_piece(reader.rest(), first.size, first.continues, info.rtp_time)
              : take_whole(reader, first.size, info.rtp_time);
    AduFrames::Mp3Frame made;
    while (frames_.next(made)) {
        Frame frame;
        frame.rtp_time = made.rtp_time;
        frame.key = true;
        frame.after_loss = std::exchange(after_loss_, false);
        give(std::move(frame), made.data);
    }
    return taken == FeedStatus::kTaken ? status : taken;
}

FeedStatus AduDepacketizer::take_whole(ByteReader& payload, size_t first_size, uint32_t rtp_time) {
    const FeedStatus status = pieces_.empty() ? FeedStatus::kTaken : FeedStatus::kLost;
    drop_pieces();
    Descriptor each{first_size, false};
    for (size_t count = 1;; count++) {
        const ByteSpan adu = payload.take(each.size);
        if (!payload.ok() || each.continues || !take_adu(adu, rtp_time)) {
            return refuse();
        }
        if (payload.empty()) {
            return status;
        }
        if (count == kMaxAdus) {
            return refuse();
        }
        each = read_descriptor(payload);
    }
}

// RFC 5219 §4.3: pieces are alone in their packets, and each says the size of the whole unit.
FeedStatus AduDepacketizer::take_piece(ByteSpan piece,
                                       size_t whole,
                                       bool continues,
                                       uint32_t rtp_time) {
    FeedStatus status = FeedStatus::kTaken;
    if (!continues) {
        status = pieces_.empty() ? status : FeedStatus::kLost;
        drop_pieces();
        whole_size_ = whole;
        pieces_time_ = rtp_time;
    } else if (pieces_.empty() || whole != whole_size_ || rtp_time != pieces_time_) {
        if (pieces_.empty() && !std::exchange(after_loss_, true)) {
            count_dropped();
        }
        drop_pieces();
        return FeedStatus::kLost;
    }
    if (piece.size() > whole_size_ - pieces_.size()) {
        return refuse();
    }
    pieces_.insert(pieces_.end(), piece.begin(), piece.end());
    if (pieces_.size() == whole_size_) {
        const Bytes adu = std::exchange(pieces_, {});
        uint32_t time = pieces_time_;
        return take_adu(adu, time) ? status : refuse();
    }
    return status;
}

// One whole unit; rtp_time becomes that of the next.
bool AduDepacketizer::take_adu(ByteSpan adu, uint32_t& rtp_time) {
    uint32_t ticks = 0;
    const bool taken = frames_.push(adu, rtp_time, clock_hz_, ticks);
    rtp_time += ticks;
    return taken;
}

FeedStatus AduDepacketizer::refuse() {
    if (pieces_.empty()) {
        count_dropped();
    }
    drop_pieces();
    after_loss_ = true;
    return FeedStatus::kMalformed;
}

void AduDepacketizer::drop_pieces() {
    if (!pieces_.empty()) {
        count_dropped();
        after_loss_ = true;
        pieces_.clear();
    }
}

}  // namespace weir::rtp
