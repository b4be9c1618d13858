#include "proto/flv/plain_form.h"

#include <gtest/gtest.h>

#include "proto/flv/tag.h"

#include "test/support/media_packets.h"

namespace weir::flv {
namespace {

using media::Codec;
using media::PacketRef;
using media::TrackKind;

constexpr TrackKind kV = TrackKind::kVideo;
constexpr TrackKind kA = TrackKind::kAudio;

Bytes join(std::initializer_list<std::string_view> parts) {
    Bytes out;
    for (const std::string_view part : parts) {
        out.insert(out.end(), part.begin(), part.end());
    }
    return out;
}

PacketRef packet(TrackKind kind, Bytes body, int64_t time_ms = 40) {
    const auto info = parse_tag_body(kind, body);
    EXPECT_TRUE(info.has_value());
    return make_ref<media::MediaPacket>(*info, time_ms, std::move(body));
}

// Of no message: empty.
Bytes plain(TrackKind kind, const Bytes& body, uint8_t track_id = 0) {
    const PacketRef made = plain_form(packet(kind, body), track_id);
    return made ? Bytes(made->body().begin(), made->body().end()) : Bytes();
}

using namespace std::string_view_literals;  // lint: allow-using

struct Row {
    const char* name;
    TrackKind kind;
    Bytes body;
    uint8_t track_id;
    Bytes plain;  // empty: nothing
};

// Enhanced RTMP v2, "ExVideoTagBody" and "ExAudioTagBody".
const Row kRows[] = {
    {"H.264", kV, join({"\x17\x01\0\0\x28"sv, "nal"}), 0, join({"\x17\x01\0\0\x28"sv, "nal"})},
    {"H.264 as track 1 alone", kV, join({"\x17\x01\0\0\0"sv, "nal"}), 1, {}},
    {"H.264, four characters, configuration", kV, join({"\x90"sv, "avc1", "cfg"}), 0,
     join({"\x17\0\0\0\0"sv, "cfg"})},
    {"H.264, four characters, frame", kV, join({"\xa1"sv, "avc1", "\xff\xff\xd8"sv, "nal"}), 0,
     join({"\x27\x01\xff\xff\xd8"sv, "nal"})},
    {"H.264, frame X", kV, join({"\x93"sv, "avc1", "nal"}), 0, join({"\x17\x01\0\0\0"sv, "nal"})},
    {"HEVC, four characters", kV, join({"\x91"sv, "hvc1", "\0\0\x28"sv, "nal"}), 0,
     join({"\x91"sv, "hvc1", "\0\0\x28"sv, "nal"})},
    {"one track, ours", kV, join({"\x96\x03"sv, "hvc1", "\x02"sv, "nal"}), 2,
     join({"\x93"sv, "hvc1", "nal"})},
    {"one track, another", kV, join({"\x96\x03"sv, "hvc1", "\x02"sv, "nal"}), 0, {}},
    {"one track of H.264", kV, join({"\xa6\x01"sv, "avc1", "\0\0\0\x28"sv, "nal"}), 0,
     join({"\x27\x01\0\0\x28"sv, "nal"})},
    {"many tracks", kV,
     join({"\xa6\x11"sv, "hvc1", "\x01\0\0\x05\0\0\x28"sv, "ab", "\x03\0\0\x06\0\0\x50"sv, "cde"}),
     3, join({"\xa1"sv, "hvc1", "\0\0\x50"sv, "cde"})},
    {"many codecs", kV,
     join({"\x96\x20"sv, "hvc1", "\x01\0\0\x02"sv, "ab", "avc1", "\0\0\0\x03"sv, "cfg"}), 0,
     join({"\x17\0\0\0\0"sv, "cfg"})},
    {"many tracks, cut",
     kV,
     join({"\xa6\x13"sv, "hvc1", "\x01\0\0\x02"sv, "ab", "\0\0\0\x09"sv, "c"}),
     0,
     {}},
    {"ModEx", kV, join({"\x97\x02\0\x03\xe8\x01"sv, "hvc1", "\0\0\x28"sv, "nal"}), 0,
     join({"\x91"sv, "hvc1", "\0\0\x28"sv, "nal"})},
    {"color information", kV, join({"\x94"sv, "hvc1", "amf"}), 0, {}},
    {"AV1 in a transport stream", kV, join({"\x95"sv, "av01", "cfg"}), 0, {}},
    {"a command", kV, join({"\xd0\0"sv}), 0, {}},
    {"end of HEVC", kV, join({"\x92"sv, "hvc1"}), 0, join({"\x92"sv, "hvc1"})},
    {"end of a track of HEVC", kV, join({"\x96\x02"sv, "hvc1", "\0"sv}), 0,
     join({"\x92"sv, "hvc1"})},
    {"an unknown codec", kV, join({"\x96\x01"sv, "vvc1", "\0"sv, "x"}), 0,
     join({"\x91"sv, "vvc1", "x"})},
    {"AAC, four characters", kA, join({"\x91"sv, "mp4a", "raw"}), 0, join({"\xaf\x01"sv, "raw"})},
    {"AAC, track 0", kA, join({"\x95\0"sv, "mp4a", "\0"sv, "cfg"}), 0, join({"\xaf\0"sv, "cfg"})},
    {"AAC, track 1", kA, join({"\x95\x01"sv, "mp4a", "\x01"sv, "raw"}), 0, {}},
    {"end of AAC", kA, join({"\x92"sv, "mp4a"}), 0, {}},
    {"Opus", kA, join({"\x91"sv, "Opus", "raw"}), 0, join({"\x91"sv, "Opus", "raw"})},
    {"channels", kA, join({"\x94"sv, "Opus", "\x01\x02\0\0\0\x03"sv}), 0, {}},
    {"ModEx of audio", kA, join({"\x97\0\x11\x01"sv, "Opus", "raw"}), 0,
     join({"\x91"sv, "Opus", "raw"})},
};

TEST(PlainFormTest, EveryFormOfAMessage) {
    for (const Row& row : kRows) {
        EXPECT_EQ(plain(row.kind, row.body, row.track_id), row.plain) << row.name;
    }
}

TEST(PlainFormTest, APlainMessageIsNotCopied) {
    for (const Row& row : kRows) {
        const PacketRef one = packet(row.kind, row.body);
        if (row.body == row.plain) {
            EXPECT_EQ(plain_form(one, 0), one) << row.name;
        }
    }
}

TEST(PlainFormTest, SaysWhatTheMessageIs) {
    const PacketRef made =
        plain_form(packet(kV, join({"\x96\x01"sv, "avc1", "\x02\0\0\x28"sv, "nal"}), 1234), 2);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->time_ms(), 1234);
    EXPECT_EQ(made->info().codec, Codec::kH264);
    EXPECT_EQ(made->info().composition_ms, 40);
    EXPECT_TRUE(made->info().key);
    EXPECT_FALSE(made->info().multitrack);
    EXPECT_EQ(made->info().track_id, 0);
    EXPECT_EQ(as_text(made->payload()), "nal");
}

TEST(PlainFormTest, EveryBeginningOfAMessageIsReadOrDropped) {
    for (const Row& row : kRows) {
        for (size_t size = 1; size <= row.body.size(); size++) {
            const Bytes cut(row.body.begin(), row.body.begin() + static_cast<ptrdiff_t>(size));
            if (parse_tag_body(row.kind, cut)) {
                const PacketRef made = plain_form(packet(row.kind, cut), row.track_id);
                EXPECT_TRUE(!made || made->info().payload_offset <= made->body().size());
            }
        }
    }
}

class PlainTracksTest : public ::testing::Test {
  protected:
    using Packets = PlainTracks::Packets;

    // Whether the packet has a plain form; what comes with it is in start_.
    bool take(const PacketRef& packet, const Packets* start = nullptr) {
        bool taken = false;
        tracks_.take(packet, start, [&](const PacketRef& plain, const Packets* configs) {
            taken = plain != nullptr;
            start_ = configs ? *configs : Packets();
        });
        return taken;
    }

    PlainTracks tracks_;
    Packets start_;
    const Packets nothing_;
};

TEST_F(PlainTracksTest, TheFirstTrackOfAKindIsTheDefault) {
    EXPECT_TRUE(take(packet(kV, test::hevc_multitrack(3, true, false, 1))));
    EXPECT_FALSE(take(packet(kV, test::hevc_multitrack(0, true, false, 1))));
    EXPECT_TRUE(take(packet(kV, test::hevc_multitrack(3, false, true, 1)), &nothing_));
    EXPECT_TRUE(take(packet(kA, test::aac_frame(1)))) << "each kind has its own";
    tracks_.forget();
    EXPECT_TRUE(take(packet(kV, test::hevc_multitrack(0, true, false, 1))));
}

TEST_F(PlainTracksTest, WhoComesLaterIsToldTheDefaultAudio) {
    tracks_.set_default_audio(0);
    EXPECT_FALSE(take(packet(kA, test::aac_multitrack(1, false, 1))));
    EXPECT_TRUE(take(packet(kA, test::aac_frame(1))));
    tracks_.set_default_audio(std::nullopt);
    EXPECT_TRUE(take(packet(kA, test::aac_multitrack(1, false, 1))));
}

TEST_F(PlainTracksTest, WherePlayersBeginDecidesForVideo) {
    EXPECT_TRUE(take(packet(kV, test::hevc_multitrack(1, true, false, 1))));
    EXPECT_TRUE(take(packet(kV, test::hevc_multitrack(0, false, true, 1)), &nothing_));
    EXPECT_FALSE(take(packet(kV, test::hevc_multitrack(1, false, true, 1))));
}

TEST_F(PlainTracksTest, AStartBringsTheConfigurationsOfTheDefaultTracks) {
    const Packets configs = {packet(TrackKind::kData, test::metadata(1)),
                             packet(kV, test::hevc_multitrack(0, true, false, 1)),
                             packet(kV, test::hevc_multitrack(1, true, false, 1)),
                             packet(kA, test::aac_header())};
    EXPECT_TRUE(take(packet(kV, test::hevc_multitrack(0, false, true, 1)), &configs));
    ASSERT_EQ(start_.size(), 3U);
    EXPECT_EQ(start_[1]->info().track_id, 0);
    EXPECT_EQ(start_[2]->info().codec, Codec::kAac);
}

TEST_F(PlainTracksTest, AStartOfAnotherTrackBringsTheConfigurationOfThatTrack) {
    const PacketRef first = packet(kV, test::hevc_multitrack(1, true, false, 1));
    EXPECT_TRUE(take(first));
    const Packets configs = {first, packet(kV, test::avc_header())};
    EXPECT_TRUE(take(packet(kV, test::avc_frame(true, 1)), &configs));
    ASSERT_EQ(start_.size(), 1U);
    EXPECT_EQ(start_[0]->info().codec, Codec::kH264);
}

}  // namespace
}  // namespace weir::flv
