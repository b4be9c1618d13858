#include "bench/load/core/frame_checker.h"

#include <algorithm>
#include <cstring>

#include "proto/flv/tag.h"

#include "bench/load/core/file_stamp.h"
#include "bench/load/core/synthetic.h"

namespace weir::load {
namespace {

constexpr uint8_t kNalSei = 6;
constexpr uint8_t kNalSps = 7;
constexpr uint8_t kNalPps = 8;
constexpr uint8_t kNalDelimiter = 9;

constexpr uint32_t kMostOnes = kMaxVideoSize / 255 + 1;

// Every byte value once, to point at a literal.
const uint8_t* byte_value(uint32_t value) {
    static const std::array<uint8_t, 256> kValues = [] {
        std::array<uint8_t, 256> values{};
        for (size_t i = 0; i < values.size(); i++) {
            values[i] = static_cast<uint8_t>(i);
        }
        return values;
    }();
    return &kValues[value];
}

const uint8_t* ones() {
    static const Bytes kOnes(kMostOnes, 0xFF);
    return kOnes.data();
}

uint32_t length_field(ByteSpan bytes) {
    return ByteReader(bytes).u32();
}

bool starts_with(ByteSpan bytes, ByteSpan what) {
    return bytes.size() >= what.size() && std::memcmp(bytes.data(), what.data(), what.size()) == 0;
}

}  // namespace

void FrameChecker::begin(uint32_t length) {
    state_ = State::kHead;
    segment_ = 0;
    segment_at_ = 0;
    padded_ = false;
    length_ = length;
    head_have_ = 0;
    result_ = FrameResult{};
}

void FrameChecker::finish(FrameType type) {
    result_.type = type;
    state_ = State::kDone;
}

void FrameChecker::feed(ByteSpan part) {
    if (state_ == State::kHead) {
        uint32_t wanted = std::min(length_, kHeadSize);
        if (head_have_ == 0 && part.size() >= wanted) {
            parse_head(part.first(wanted));
            part = part.subspan(state_ != State::kDone ? body_at_ : 0);
        } else {
            size_t size = std::min<size_t>(part.size(), wanted - head_have_);
            std::memcpy(head_.data() + head_have_, part.data(), size);
            head_have_ += static_cast<uint32_t>(size);
            part = part.subspan(size);
            if (head_have_ == wanted) {
                ByteSpan head(head_.data(), wanted);
                parse_head(head);
                if (state_ == State::kBody) {
                    compare(head.subspan(body_at_));
                } else if (state_ == State::kSum) {
                    sum_.add(head.subspan(body_at_));
                }
            }
        }
    }
    if (state_ == State::kBody) {
        compare(part);
    } else if (state_ == State::kSum) {
        sum_.add(part);
    }
}

FrameResult FrameChecker::end() {
    if (state_ == State::kBody) {
        finish(FrameType::kIntact);
    } else if (state_ == State::kSum) {
        finish(sum_.value() == result_.stamp.filler ? FrameType::kIntact : FrameType::kDamaged);
    }
    return result_;
}

void FrameChecker::parse_head(ByteSpan head) {
    if (head.size() < 2) {
        finish(FrameType::kForeign);
        return;
    }
    bool is_video = kind_ == FillerKind::kVideo;
    bool our_codec = is_video ? (head[0] & 0x8F) == 0x07 : (head[0] & 0xF0) == 0xA0;
    if (our_codec) {
        result_.key = is_video && head[0] >> 4 == 1;
        if (head[1] != 1) {
            finish(FrameType::kConfig);
        } else if (is_video) {
            parse_video_head(head);
        } else {
            parse_audio_head(head);
        }
    } else {
        finish(FrameType::kForeign);
    }
    if (state_ == State::kDone && result_.type == FrameType::kForeign) {
        parse_file_head(head);
    }
}

// No synthetic frame; whatever codec it is, it may be a stamped frame of a file.
void FrameChecker::parse_file_head(ByteSpan head) {
    auto kind = kind_ == FillerKind::kVideo ? media::TrackKind::kVideo : media::TrackKind::kAudio;
    std::optional<media::PacketInfo> info = flv::parse_tag_body(kind, head);
    if (!info) {
        return;
    }
    result_.key = info->key;
    if (info->config || info->metadata || info->end) {
        finish(FrameType::kConfig);
        return;
    }
    std::optional<FileStampPlace> place = find_file_stamp(head, *info);
    if (!place) {
        return;
    }
    if (!place->stamp) {
        finish(FrameType::kIllegible);
        return;
    }
    result_.stamp = *place->stamp;
    if (!place->as_sent) {
        finish(FrameType::kDamaged);
        return;
    }
    sum_ = FrameSum();
    sum_.add(head.first(place->header_size));
    body_at_ = place->rest_at;
    state_ = State::kSum;
}

void FrameChecker::parse_video_head(ByteSpan head) {
    uint32_t at = 5;
    while (at + 4 + 1 + kStampMessageHead + kStampSize <= head.size()) {
        uint32_t size = length_field(head.subspan(at));
        uint8_t type = head[at + 4] & 31;
        ByteSpan unit = head.subspan(at + 4);
        if (type == kNalSei && starts_with(unit.subspan(3), stamp_uuid())) {
            take_stamp(unit.subspan(1 + kStampMessageHead),
                       at + 4 + 1 + kStampMessageHead + kStampSize);
            if (state_ != State::kBody) {
                return;
            }
            uint32_t plain = sei_unit_size(result_.stamp.filler);
            padded_ = size == plain + 2;
            bool as_sent = (padded_ || size == plain) &&
                           at + 4 + size + picture_unit(result_.stamp).size() == length_ &&
                           head[2] == 0 && head[3] == 0 && head[4] == 0 && unit[0] == 6 &&
                           unit[1] == 5 && unit[2] == kUuidSize + kStampSize &&
                           head[0] == (result_.stamp.place == 0 ? 0x17 : 0x27);
            if (!as_sent) {
                finish(FrameType::kDamaged);
            }
            return;
        }
        bool before_picture =
            type == kNalSps || type == kNalPps || type == kNalDelimiter || type == kNalSei;
        if (!before_picture || size > head.size()) {
            break;
        }
        at += 4 + size;
    }
    finish(FrameType::kForeign);
}

void FrameChecker::parse_audio_head(ByteSpan head) {
    if (head.size() < kMinAudioSize || (head[2] & 0xE0) != 0x80) {
        finish(FrameType::kForeign);
        return;
    }
    bool is_long = head[3] == 255;
    uint32_t at = is_long ? 5 : 4;
    if (!starts_with(head.subspan(at), audio_mark())) {
        finish(FrameType::kForeign);
        return;
    }
    uint32_t data = head[3] + (is_long ? uint32_t{head[4]} : 0);
    at += static_cast<uint32_t>(audio_mark().size());
    take_stamp(head.subspan(at), at + kStampSize);
    if (state_ != State::kBody) {
        return;
    }
    uint64_t plain = uint64_t{body_at_} + result_.stamp.filler + silence(false).size();
    padded_ = length_ == plain + 1;
    bool as_sent = (padded_ || length_ == plain) && data == audio_data_size(result_.stamp.filler) &&
                   head[0] == 0xAF && head[2] == 0x81;
    if (!as_sent) {
        finish(FrameType::kDamaged);
    }
}

void FrameChecker::take_stamp(ByteSpan at_stamp, uint32_t body_at) {
    auto stamp = parse_stamp(std::span<const uint8_t, kStampSize>(at_stamp.data(), kStampSize));
    if (!stamp || stamp->filler > kMaxVideoSize) {
        finish(FrameType::kIllegible);
        return;
    }
    result_.stamp = *stamp;
    body_at_ = body_at;
    state_ = State::kBody;
}

FrameChecker::Segment FrameChecker::segment(unsigned index) const {
    static constexpr std::array<uint8_t, 3> kTrailer = {3, 0, 0x80};
    uint32_t filler = result_.stamp.filler;
    if (kind_ == FillerKind::kAudio) {
        ByteSpan rest = silence(padded_);
        return index == 0 ? Segment{nullptr, filler}
                          : Segment{rest.data(), static_cast<uint32_t>(rest.size())};
    }
    uint32_t payload = static_cast<uint32_t>(kUuidSize) + filler;
    switch (index) {
        case 0: return {byte_value(5), 1};
        case 1: return {ones(), payload / 255};
        case 2: return {byte_value(payload % 255), 1};
        case 3: return {filler_uuid().data(), kUuidSize};
        case 4: return {nullptr, filler};
        case 5: return padded_ ? Segment{kTrailer.data(), 3} : Segment{kTrailer.data() + 2, 1};
        default: {
            ByteSpan picture = picture_unit(result_.stamp);
            return {picture.data(), static_cast<uint32_t>(picture.size())};
        }
    }
}

// The head has shown that the segments add up to the length of the message.
void FrameChecker::compare(ByteSpan part) {
    while (!part.empty()) {
        Segment expected = segment(segment_);
        auto size = std::min<size_t>(part.size(), expected.size - segment_at_);
        ByteSpan bytes = part.first(size);
        bool equal = expected.data == nullptr
                         ? filler_equals(bytes, filler_start(result_.stamp, kind_) + segment_at_)
                         : std::memcmp(bytes.data(), expected.data + segment_at_, size) == 0;
        if (!equal) {
            finish(FrameType::kDamaged);
            return;
        }
        part = part.subspan(size);
        segment_at_ += static_cast<uint32_t>(size);
        if (segment_at_ == expected.size) {
            segment_++;
            segment_at_ = 0;
        }
    }
}

}  // namespace weir::load
