#include "bench/load/core/fmp4_scanner.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "proto/rtmp/message.h"

#include "bench/load/core/flv_head.h"

namespace weir::load {
namespace {

using media::Codec;

constexpr size_t kDescriptionsHead = 8;        // version, flags, count
constexpr uint64_t kMaxFragment = 256U << 20;  // moof and mdat

Codec codec_of(std::string_view entry) {
    struct Kind {
        std::string_view entry;
        Codec codec;
    };

    static constexpr std::array<Kind, 11> kKinds = {{
        {"avc1", Codec::kH264},
        {"avc3", Codec::kH264},
        {"hvc1", Codec::kHevc},
        {"hev1", Codec::kHevc},
        {"av01", Codec::kAv1},
        {"vp08", Codec::kVp8},
        {"vp09", Codec::kVp9},
        {"mp4a", Codec::kAac},
        {".mp3", Codec::kMp3},
        {"Opus", Codec::kOpus},
        {"ac-3", Codec::kAc3},
    }};
    const auto* found = std::ranges::find(kKinds, entry, &Kind::entry);
    return found == kKinds.end() ? Codec::kUnknown : found->codec;
}

// The field of a full box behind two times of 4 or 8 bytes: the track's number in 'tkhd', the scale
// in 'mdhd'. 0: it is too short.
uint32_t behind_times(const Mp4Box& box) {
    ByteReader reader(box.content());
    const uint32_t version = reader.u32() >> 24U;
    reader.skip(version == 1 ? 16 : 8);
    const uint32_t value = reader.u32();
    return reader.ok() ? value : 0;
}

}  // namespace

bool Fmp4Scanner::fail(std::string why) {
    if (error_.empty()) {
        error_ = std::move(why);
    }
    return false;
}

bool Fmp4Scanner::end() {
    if (state_ != State::kHead || !collected_.empty()) {
        return fail("a segment ends in the middle of a box");
    }
    return error_.empty();
}

bool Fmp4Scanner::feed(ByteSpan bytes, PlayerCheck& check) {
    while (!bytes.empty() && error_.empty()) {
        size_t size = 0;
        switch (state_) {
            case State::kHead:
                size = 1;
                collected_.push_back(bytes.front());
                at_++;
                if (collected_.size() >= 8) {
                    if (Error error = take_head()) {
                        return fail(std::string(error.message()));
                    }
                }
                break;
            case State::kCollect:
                size = std::min<uint64_t>(bytes.size(), left_);
                collected_.insert(collected_.end(), bytes.begin(),
                                  bytes.begin() + static_cast<std::ptrdiff_t>(size));
                at_ += size;
                left_ -= size;
                if (left_ == 0) {
                    if (Error error = take_box()) {
                        return fail(std::string(error.message()));
                    }
                }
                break;
            case State::kMedia:
                size = std::min<uint64_t>(bytes.size(), left_);
                take_media(bytes.first(size), check);
                left_ -= size;
                break;
            case State::kSkip:
                size = std::min<uint64_t>(bytes.size(), left_);
                at_ += size;
                left_ -= size;
                break;
        }
        bytes = bytes.subspan(size);
        if (state_ != State::kHead && left_ == 0) {
            if (state_ == State::kMedia && next_ < samples_.size()) {
                return fail(fmt::format("a fragment lacks {} of its {} samples",
                                        samples_.size() - next_, samples_.size()));
            }
            state_ = State::kHead;
            collected_ = Bytes();
        }
    }
    return error_.empty();
}

// Of a box whose first bytes are there.
Error Fmp4Scanner::take_head() {
    if (ByteReader(collected_).u32() == 1 && collected_.size() < kMaxBoxHeader) {
        return {};
    }
    WEIR_TRY_ASSIGN(const Mp4BoxHeader head,
                    parse_box_header(collected_, 0, kMaxFragment, "a segment"));
    left_ = head.size - head.header_size;
    const std::string_view type = text_of(head.type);
    if (type == "moov" || type == "moof") {
        if (head.size > kMaxHeader || left_ == 0) {
            return make_error(ErrorCode::kLimit, "box '{}': {} bytes, expected 9 to {}", type,
                              head.size, kMaxHeader);
        }
        state_ = State::kCollect;
        if (type == "moof") {
            at_ = head.header_size;
        }
        return {};
    }
    state_ = type == "mdat" ? State::kMedia : State::kSkip;
    if (left_ == 0) {
        state_ = State::kHead;
        collected_ = Bytes();
    }
    return {};
}

Error Fmp4Scanner::take_box() {
    WEIR_TRY_ASSIGN(const Mp4BoxHeader head,
                    parse_box_header(collected_, 0, collected_.size(), "a segment"));
    const Mp4Box box(head.type, head.header_size, ByteSpan(collected_).subspan(head.header_size));
    return text_of(head.type) == "moov" ? take_movie(box) : take_fragment(box);
}

Error Fmp4Scanner::take_movie(const Mp4Box& movie) {
    tracks_.clear();
    WEIR_TRY(movie.each(
        [this](const Mp4Box& box) { return box.type() == "trak" ? take_track(box) : Error(); }));
    WEIR_TRY_ASSIGN(const Mp4Box extends, movie.child("mvex"));
    std::vector<Mp4FragmentedTrack*> all;
    for (Track& each : tracks_) {
        all.push_back(&each.data);
    }
    return read_track_defaults(extends, all);
}

Error Fmp4Scanner::take_track(const Mp4Box& box) {
    if (tracks_.size() == kMaxTracks) {
        return make_error(ErrorCode::kLimit, "more than {} tracks", kMaxTracks);
    }
    Track track;
    WEIR_TRY_ASSIGN(const Mp4Box header, box.child("tkhd"));
    WEIR_TRY_ASSIGN(const Mp4Box media, box.child("mdia"));
    WEIR_TRY_ASSIGN(const Mp4Box times, media.child("mdhd"));
    track.data.id = behind_times(header);
    track.scale = behind_times(times);
    if (track.scale == 0) {
        return times.wrong("a time scale above 0", "none");
    }
    WEIR_TRY_ASSIGN(const Mp4Box handler, media.child("hdlr"));
    ByteReader reader(handler.content());
    reader.skip(8);
    track.video = as_text(reader.take(4)) == "vide";
    WEIR_TRY_ASSIGN(const Mp4Box information, media.child("minf"));
    WEIR_TRY_ASSIGN(const Mp4Box table, information.child("stbl"));
    WEIR_TRY_ASSIGN(const Mp4Box descriptions, table.child("stsd"));
    WEIR_TRY(descriptions.each(
        [&track](const Mp4Box& entry) {
            track.codec = codec_of(entry.type());
            return Error();
        },
        kDescriptionsHead));
    tracks_.push_back(std::move(track));
    return {};
}

Error Fmp4Scanner::take_fragment(const Mp4Box& fragment) {
    std::vector<Mp4FragmentedTrack*> all;
    for (Track& each : tracks_) {
        each.data.samples.clear();
        all.push_back(&each.data);
    }
    WEIR_TRY(read_fragment(fragment, 0, kMaxFragment, all));
    samples_.clear();
    next_ = 0;
    fed_ = 0;
    for (const Track& track : tracks_) {
        for (const Mp4Sample& each : track.data.samples) {
            samples_.push_back({each.offset, each.size,
                                static_cast<uint32_t>(each.time * 1000 / track.scale), each.key,
                                track.codec, track.video});
        }
    }
    std::ranges::stable_sort(samples_, {}, &Sample::offset);
    return {};
}

void Fmp4Scanner::take_media(ByteSpan bytes, PlayerCheck& check) {
    while (!bytes.empty() && next_ < samples_.size()) {
        const Sample& sample = samples_[next_];
        if (at_ < sample.offset + fed_) {  // between samples
            const size_t gap = std::min<uint64_t>(bytes.size(), sample.offset + fed_ - at_);
            bytes = bytes.subspan(gap);
            at_ += gap;
            continue;
        }
        std::array<uint8_t, kMaxFlvHead> room{};
        const size_t head_size = sample.video ? kMaxFlvHead : flv_head_size(sample.codec);
        ScannedMessage message;
        message.type = sample.video ? rtmp::kVideo : rtmp::kAudio;
        message.timestamp = sample.timestamp;
        message.length = static_cast<uint32_t>(head_size) + sample.size;
        if (fed_ == 0) {
            const std::span<uint8_t> head = std::span(room).first(head_size);
            write_flv_head(head, sample.codec, sample.key);
            check.begin(message);
            check.part(message, head);
        }
        const size_t size = std::min<size_t>(bytes.size(), sample.size - fed_);
        check.part(message, bytes.first(size));
        fed_ += static_cast<uint32_t>(size);
        at_ += size;
        bytes = bytes.subspan(size);
        if (fed_ == sample.size) {
            check.end(message);
            next_++;
            fed_ = 0;
        }
    }
    at_ += bytes.size();
}

}  // namespace weir::load
