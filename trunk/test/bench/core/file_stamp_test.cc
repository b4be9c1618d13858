#include "bench/load/core/file_stamp.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "proto/flv/tag.h"

#include "bench/load/core/frame_checker.h"
#include "bench/load/core/frame_sum.h"
#include "bench/load/core/synthetic.h"

namespace weir::load {
namespace {

using media::TrackKind;

// Bodies of the kinds that can be stamped; units of an H.264 frame with a delimiter, and without.
Bytes body_of(std::initializer_list<uint8_t> head, size_t size) {
    Bytes out(head);
    for (size_t i = 0; i < size; i++) {
        out.push_back(static_cast<uint8_t>(i * 7 + 3));
    }
    return out;
}

struct Kind {
    const char* name;
    TrackKind kind;
    Bytes body;
};

const Kind kKinds[] = {
    {"H.264", TrackKind::kVideo, body_of({0x17, 1, 0, 0, 80, 0, 0, 1, 1, 0x65}, 400)},
    {"H.264 with a delimiter", TrackKind::kVideo,
     body_of({0x27, 1, 0, 0, 80, 0, 0, 0, 2, 0x09, 0xF0, 0, 0, 0, 50, 0x41}, 49)},
    {"H.264 by Enhanced RTMP", TrackKind::kVideo,
     body_of({0x93, 'a', 'v', 'c', '1', 0, 0, 0, 50, 0x65}, 49)},
    {"HEVC", TrackKind::kVideo,
     body_of({0x91, 'h', 'v', 'c', '1', 0, 0, 0, 0, 0, 0, 50, 0x26, 1}, 48)},
    {"HEVC from before Enhanced RTMP", TrackKind::kVideo,
     body_of({0x1C, 1, 0, 0, 0, 0, 0, 0, 50, 0x26, 1}, 48)},
    {"AAC", TrackKind::kAudio, body_of({0xAF, 1, 0x21}, 200)},
    {"AAC, short", TrackKind::kAudio, body_of({0xAF, 1, 0x21}, 1)},
};

const Stamp kStamp{3, 99, 4711, 5'000'000, 0, 17};

Bytes stamped(const Kind& kind, Stamp& stamp) {
    Bytes out;
    EXPECT_TRUE(add_file_stamp(kind.body, kind.kind, stamp, out)) << kind.name;
    EXPECT_LE(out.size(), kind.body.size() + kMaxFileStampSize);
    return out;
}

FrameResult check(TrackKind kind, ByteSpan body, size_t step, size_t length) {
    FrameChecker checker(kind == TrackKind::kVideo ? FillerKind::kVideo : FillerKind::kAudio);
    checker.begin(static_cast<uint32_t>(length));
    for (size_t at = 0; at < body.size(); at += step) {
        checker.feed(body.subspan(at, std::min(step, body.size() - at)));
    }
    return checker.end();
}

TEST(FileStampTest, FramesAreIntactHoweverTheyAreCut) {
    for (const Kind& kind : kKinds) {
        Stamp stamp = kStamp;
        Bytes out = stamped(kind, stamp);
        for (size_t step : {1UL, 3UL, 8UL, 100UL, 223UL, 224UL, 1000UL}) {
            FrameResult result = check(kind.kind, out, step, out.size());
            EXPECT_EQ(result.type, FrameType::kIntact) << kind.name << ' ' << step;
            EXPECT_EQ(result.stamp, stamp) << kind.name;
        }
    }
}

TEST(FileStampTest, ABodyStaysWhatItIs) {
    for (const Kind& kind : kKinds) {
        Stamp stamp = kStamp;
        Bytes out = stamped(kind, stamp);
        auto before = flv::parse_tag_body(kind.kind, kind.body);
        auto after = flv::parse_tag_body(kind.kind, out);
        EXPECT_EQ(before->codec, after->codec);
        EXPECT_EQ(before->key, after->key);
        EXPECT_EQ(before->composition_ms, after->composition_ms);
        // The frame itself follows unchanged.
        size_t tail = kind.body.size() - before->payload_offset;
        tail -= std::string_view(kind.name) == "H.264 with a delimiter" ? 6U : 0U;
        EXPECT_TRUE(std::equal(kind.body.end() - static_cast<ptrdiff_t>(tail), kind.body.end(),
                               out.end() - static_cast<ptrdiff_t>(tail)))
            << kind.name;
    }
}

TEST(FileStampTest, TheDelimiterStaysFirst) {
    Stamp stamp = kStamp;
    Bytes out = stamped(kKinds[1], stamp);
    EXPECT_EQ(out[9], 0x09);   // delimiter
    EXPECT_EQ(out[15], 0x06);  // SEI
}

TEST(FileStampTest, EveryChangedByteIsSeen) {
    for (const Kind& kind : kKinds) {
        Stamp stamp = kStamp;
        Bytes out = stamped(kind, stamp);
        size_t delimiter = std::string_view(kind.name) == "H.264 with a delimiter" ? 11 : 0;
        for (size_t at = 0; at < out.size(); at++) {
            if (delimiter != 0 && at >= 5 && at < delimiter) {
                continue;  // not covered: a server may put one in
            }
            Bytes damaged = out;
            damaged[at] ^= 0x20;
            EXPECT_NE(check(kind.kind, damaged, 50, damaged.size()).type, FrameType::kIntact)
                << kind.name << ' ' << at;
        }
    }
}

TEST(FileStampTest, AShorterFrameIsNotIntact) {
    for (const Kind& kind : kKinds) {
        Stamp stamp = kStamp;
        Bytes out = stamped(kind, stamp);
        for (size_t size = 0; size < out.size(); size++) {
            EXPECT_NE(check(kind.kind, ByteSpan(out).first(size), 64, size).type,
                      FrameType::kIntact)
                << kind.name << ' ' << size;
        }
    }
}

TEST(FileStampTest, AnUnstampedFrameIsForeign) {
    for (const Kind& kind : kKinds) {
        EXPECT_EQ(check(kind.kind, kind.body, 64, kind.body.size()).type, FrameType::kForeign)
            << kind.name;
    }
    // Sequence headers by Enhanced RTMP are no frames.
    Bytes config = {0x90, 'h', 'v', 'c', '1', 1, 2, 3};
    EXPECT_EQ(check(TrackKind::kVideo, config, 64, config.size()).type, FrameType::kConfig);
}

TEST(FileStampTest, ParameterSetsInFrontAreSkipped) {
    Stamp stamp = kStamp;
    Bytes out = stamped(kKinds[0], stamp);
    Bytes sets = {0, 0, 0, 3, 0x67, 1, 2, 0, 0, 0, 2, 0x68, 1};
    out.insert(out.begin() + 5, sets.begin(), sets.end());
    EXPECT_EQ(check(TrackKind::kVideo, out, 64, out.size()).type, FrameType::kIntact);
}

TEST(FileStampTest, TellsWhatCanBeStamped) {
    auto track = [](Bytes config) {
        FileTrack made;
        made.present = true;
        made.config = std::move(config);
        return made;
    };
    Bytes avc = {0x17, 0, 0, 0, 0, 1, 66, 0xC0, 40, 0xFF, 0xE0, 0};
    EXPECT_TRUE(can_stamp(track(avc), TrackKind::kVideo));
    avc[9] = 0xFD;  // unit lengths of two bytes
    EXPECT_FALSE(can_stamp(track(avc), TrackKind::kVideo));
    Bytes hevc = {0x90, 'h', 'v', 'c', '1'};
    hevc.resize(5 + 23, 0);
    hevc[5 + 21] = 0x0F;
    EXPECT_TRUE(can_stamp(track(hevc), TrackKind::kVideo));
    hevc[5 + 21] = 0x0C;
    EXPECT_FALSE(can_stamp(track(hevc), TrackKind::kVideo));
    EXPECT_FALSE(can_stamp(track({0x90, 'a', 'v', '0', '1', 0x81}), TrackKind::kVideo));
    EXPECT_TRUE(can_stamp(track({0xAF, 0, 0x12, 0x10}), TrackKind::kAudio));
    EXPECT_FALSE(can_stamp(track({0xAF, 0, 0xF9, 0x10}), TrackKind::kAudio));  // escape: 32 and up
    EXPECT_FALSE(can_stamp(track({}), TrackKind::kAudio));
}

TEST(FrameSumTest, TheCutDoesNotMatterButOrderAndLengthDo) {
    Bytes bytes = body_of({}, 200);
    FrameSum whole;
    whole.add(bytes);
    for (size_t cut = 0; cut <= bytes.size(); cut++) {
        FrameSum parts;
        parts.add(ByteSpan(bytes).first(cut));
        parts.add(ByteSpan(bytes).subspan(cut));
        EXPECT_EQ(parts.value(), whole.value()) << cut;
    }
    Bytes longer = bytes;
    longer.push_back(0);
    FrameSum other;
    other.add(longer);
    EXPECT_NE(other.value(), whole.value());
    std::rotate(bytes.begin(), bytes.begin() + 8, bytes.begin() + 16);
    FrameSum swapped;
    swapped.add(bytes);
    EXPECT_NE(swapped.value(), whole.value());
}

}  // namespace
}  // namespace weir::load
