#include "net/ts/ts_ingest.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "media/adts.h"
#include "media/hevc.h"
#include "media/opus.h"
#include "proto/flv/metadata.h"

#include "test/support/bit_writer.h"
#include "test/support/codec_samples.h"
#include "test/support/rtp_media.h"
#include "test/support/transport_stream.h"

namespace weir::net {
namespace {

using media::Codec;
using media::TrackKind;
using mpegts::Content;
using test::annex_b;
using test::counted;
using test::from_hex;
using test::nal_frame;

constexpr uint16_t kPmtPid = 0x1000;
constexpr uint16_t kVideoPid = 0x100;
constexpr uint16_t kAudioPid = 0x101;
constexpr uint64_t kFrame = 3'600;
constexpr uint64_t kStart = 90'000;

class TsIngestTest : public testing::Test, protected TsOutput {
  protected:
    void tables(Content video, Content audio, uint8_t audio_type = 0) {
        mpegts::StreamInfo first;
        first.pid = kVideoPid;
        first.content = video;
        mpegts::StreamInfo second;
        second.pid = kAudioPid;
        second.content = audio;
        second.stream_type = audio_type;
        second.channels = audio == Content::kOpus ? 2 : 0;
        ts_.pat({{1, kPmtPid}}).pmt(kPmtPid, 1, {first, second}, version_++);
    }

    // H.264, and AAC in several languages.
    void audio_tables(const std::vector<std::pair<uint16_t, std::string>>& tracks) {
        std::vector<mpegts::StreamInfo> streams(1);
        streams[0].pid = kVideoPid;
        streams[0].content = Content::kH264;
        for (const auto& [pid, language] : tracks) {
            mpegts::StreamInfo& added = streams.emplace_back();
            added.pid = pid;
            added.content = Content::kAac;
            std::ranges::copy(language, added.language.begin());
        }
        ts_.pat({{1, kPmtPid}}).pmt(kPmtPid, 1, streams, version_++);
    }

    void on_ts_packet(MonoTime, Ref<media::MediaPacket> packet) override {
        if (packet->info().config) {
            configs_.emplace_back(packet);
        } else if (packet->info().kind == TrackKind::kVideo) {
            video_.emplace_back(packet);
        } else if (packet->info().metadata) {
            metadata_.emplace_back(packet);
        } else {
            audio_.emplace_back(packet);
        }
    }

    void on_ts_description(media::Description description) override {
        description_ = std::move(description);
    }

    // What was put into ts_ since the last time.
    void feed() {
        Error failed = ingest_.feed(now_, ts_.out);
        EXPECT_FALSE(failed) << failed.message();
        ts_.out.clear();
        now_ += Millis(40);
    }

    void key(uint64_t dts, uint32_t marker, uint64_t ahead = 0) {
        ts_.pes(kVideoPid, dts + ahead, dts,
                annex_b({{0x09, 0xF0}, test::kAvcHighSps, test::kAvcHighPps, idr(marker)}));
    }

    void frame(uint64_t dts, uint32_t marker, uint64_t ahead = 0) {
        ts_.pes(kVideoPid, dts + ahead, dts, annex_b({{0x09, 0xF0}, inter(marker)}));
    }

    static Bytes idr(uint32_t marker) { return counted({0x65, 0x88, 0x84}, 900, marker); }

    static Bytes inter(uint32_t marker) { return counted({0x41, 0x9A, 0x24}, 400, marker); }

    static Bytes payload(const media::PacketRef& packet) {
        return Bytes(packet->payload().begin(), packet->payload().end());
    }

    // Enough for the search of the sync.
    void fill() {
        for (int i = 0; i < 4; i++) {
            ts_.raw(test::ts_packet(mpegts::kNullPid, 0, false, Bytes(184, 0xFF)));
        }
    }

    test::TsBuilder ts_;
    MonoTime now_{Seconds(5'000)};
    TsIngest ingest_{*this};
    std::vector<media::PacketRef> configs_;
    std::vector<media::PacketRef> video_;
    std::vector<media::PacketRef> audio_;
    std::vector<media::PacketRef> metadata_;
    media::Description description_;
    uint8_t version_ = 0;
};

Bytes adts(uint32_t marker, uint8_t rate_index = 3, uint8_t channels = 2) {
    media::adts::Header header;
    header.rate_index = rate_index;
    header.channel_config = channels;
    header.frame_size = 200;
    Bytes out(media::adts::kHeaderSize);
    header.write(out.data());
    return counted(std::move(out), 200, marker);
}

TEST_F(TsIngestTest, H264WithBFramesAndAacBecomePackets) {
    tables(Content::kH264, Content::kAac);
    fill();
    constexpr std::array<uint64_t, 7> kShown = {1, 4, 2, 3, 7, 5, 6};
    for (uint32_t i = 0; i < kShown.size(); i++) {
        const uint64_t ahead = (kShown[i] - i) * kFrame;
        i == 0 ? key(kStart, i, ahead) : frame(kStart + i * kFrame, i, ahead);
        ts_.pes(kAudioPid, kStart + i * kFrame, {}, adts(i));
        feed();
    }
    ASSERT_EQ(configs_.size(), 2U);
    EXPECT_EQ(payload(configs_[0]), test::kAvcHighConfig);
    EXPECT_EQ(payload(configs_[1]), from_hex("1190"));
    ASSERT_EQ(video_.size(), kShown.size());
    EXPECT_EQ(payload(video_[0]), nal_frame({idr(0)}));
    EXPECT_EQ(payload(video_[3]), nal_frame({inter(3)}));
    for (size_t i = 0; i < video_.size(); i++) {
        EXPECT_EQ(video_[i]->info().key, i == 0);
        EXPECT_EQ(video_[i]->time_ms(), TsClock::kOriginMs + static_cast<int64_t>(i) * 40);
        EXPECT_EQ(video_[i]->info().composition_ms, static_cast<int>(kShown[i] - i) * 40);
        EXPECT_EQ(audio_[i]->time_ms(), video_[i]->time_ms());
    }
    const Bytes sound = adts(2);
    EXPECT_EQ(payload(audio_[2]), Bytes(sound.begin() + 7, sound.end()));
    EXPECT_EQ(description_.width, test::kSampleWidth);
    EXPECT_EQ(ingest_.stats().frames, 14U);
}

TEST_F(TsIngestTest, HevcComesWithItsThreeParameterSets) {
    tables(Content::kHevc, Content::kAac);
    fill();
    const Bytes picture = counted({0x26, 0x01, 0xAF}, 600);
    const Bytes dolby = counted({0x7C, 0x01}, 60);  // type 62
    ts_.pes(kVideoPid, kStart, {},
            annex_b({from_hex("460150"), test::kHevcVps, test::kHevcSps, test::kHevcPps, picture,
                     dolby}));
    feed();
    ASSERT_EQ(configs_.size(), 1U);
    EXPECT_EQ(configs_[0]->info().codec, Codec::kHevc);
    ASSERT_TRUE(media::hevc::ConfigView::parse(configs_[0]->payload()));
    ASSERT_EQ(video_.size(), 1U);
    EXPECT_TRUE(video_[0]->info().key);
    EXPECT_EQ(payload(video_[0]), nal_frame({picture}));
}

TEST_F(TsIngestTest, AfterALossNoVideoIsUntilTheNextKeyFrame) {
    tables(Content::kH264, Content::kAac);
    fill();
    for (uint32_t i = 0; i < 10; i++) {
        i % 6 == 0 ? key(kStart + i * kFrame, i) : frame(kStart + i * kFrame, i);
        ts_.pes(kAudioPid, kStart + i * kFrame, {}, adts(i));
        if (i == 2) {
            ts_.erase(0);
        }
        feed();
    }
    EXPECT_EQ(video_.size(), 6U);  // 0, 1, 6 to 9
    EXPECT_EQ(payload(video_[2]), nal_frame({idr(6)}));
    EXPECT_EQ(audio_.size(), 10U);
    EXPECT_EQ(ingest_.counters().continuity_errors, 1U);
    EXPECT_EQ(ingest_.stats().dropped_frames, 3U);  // that could not be decoded
}

TEST_F(TsIngestTest, VideoBeginsWithAKeyFrame) {
    tables(Content::kH264, Content::kAac);
    fill();
    frame(kStart, 1);
    feed();
    key(kStart + kFrame, 2);
    feed();
    ASSERT_EQ(video_.size(), 1U);
    EXPECT_TRUE(video_[0]->info().key);
}

TEST_F(TsIngestTest, BroadcastsBeginAtRecoveryPoints) {
    tables(Content::kH264, Content::kAac);
    fill();
    const Bytes intra = counted({0x61, 0x88, 0x84}, 600);  // no IDR, slice type 7: I
    ts_.pes(
        kVideoPid, kStart, {},
        annex_b(
            {{0x09, 0xF0}, test::kAvcHighSps, test::kAvcHighPps, from_hex("0606018480"), intra}));
    frame(kStart + kFrame, 1);
    feed();
    ASSERT_EQ(video_.size(), 2U);
    EXPECT_TRUE(video_[0]->info().key);
    EXPECT_FALSE(video_[1]->info().key);
}

TEST_F(TsIngestTest, OtherParameterSetsMidStreamAreANewConfiguration) {
    tables(Content::kH264, Content::kAac);
    fill();
    key(kStart, 1);
    key(kStart + kFrame, 2);  // the same
    ts_.pes(kVideoPid, kStart + 2 * kFrame, {},
            annex_b({{0x09, 0xF0}, test::kAvcBaselineSps, test::kAvcBaselinePps, idr(3)}));
    feed();
    EXPECT_EQ(video_.size(), 3U);
    ASSERT_EQ(configs_.size(), 2U);
    EXPECT_NE(payload(configs_[0]), payload(configs_[1]));
}

TEST_F(TsIngestTest, AudioThatChangesItsRateIsANewConfiguration) {
    tables(Content::kTeletext, Content::kAac);
    fill();
    ts_.pes(kAudioPid, kStart, {}, adts(1, 3));
    ts_.pes(kAudioPid, kStart + 1'920, {}, adts(2, 3));
    ts_.pes(kAudioPid, kStart + 2 * 1'920, {}, adts(3, 4));
    feed();
    EXPECT_EQ(audio_.size(), 3U);
    ASSERT_EQ(configs_.size(), 2U);
    EXPECT_EQ(payload(configs_[1]), from_hex("1210"));
}

TEST_F(TsIngestTest, Mp3Ac3AndOpusArePassedOn) {
    struct Case {
        Content content;
        uint8_t type;
        Codec codec;
        Bytes unit;
        Bytes config;
    };

    const Bytes opus = counted({0xFC}, 100);
    Bytes with_header = from_hex("7fe064");
    with_header.insert(with_header.end(), opus.begin(), opus.end());
    const std::vector<Case> cases = {
        {Content::kMpegAudio, 3, Codec::kMp3, counted({0xFF, 0xFB, 0x90, 0x64}, 417), {}},
        {Content::kAc3, 0, Codec::kAc3, counted({0x0B, 0x77, 0, 0, 0x14, 0x40}, 768), {}},
        {Content::kEac3, 0, Codec::kEac3, counted({0x0B, 0x77, 1, 0xFF, 0x34, 0x86}, 1024), {}},
        {Content::kOpus, 0, Codec::kOpus, with_header, media::opus::build_head(2)},
    };
    for (const Case& each : cases) {
        tables(Content::kTeletext, each.content, each.type);
        fill();
        ts_.pes(kAudioPid, kStart + audio_.size() * 5'000, {}, each.unit);
        feed();
        ASSERT_FALSE(audio_.empty());
        EXPECT_EQ(audio_.back()->info().codec, each.codec);
        EXPECT_EQ(payload(audio_.back()), each.codec == Codec::kOpus ? opus : each.unit);
        if (!each.config.empty()) {
            EXPECT_EQ(payload(configs_.back()), each.config);
        }
    }
    EXPECT_EQ(audio_.size(), 4U);
    EXPECT_EQ(configs_.size(), 1U);
}

// A frame of AAC as LATM in LOAS, ISO/IEC 14496-3 §1.7; AudioSpecificConfig 1190 (LC, 48 kHz,
// stereo) with the first one only.
Bytes latm(ByteSpan frame, bool with_config) {
    test::BitWriter bits;
    bits.flag(!with_config);
    if (with_config) {
        bits.flag(false).flag(true).bits(6, 0).bits(4, 0).bits(3, 0);
        bits.bits(16, 0x1190).bits(3, 0).bits(8, 0xFF).flag(false).flag(false);
    }
    bits.bits(8, static_cast<uint32_t>(frame.size()));
    for (const uint8_t byte : frame) {
        bits.bits(8, byte);
    }
    Bytes loas;
    ByteWriter(loas).u24(static_cast<uint32_t>(0x56E000 | bits.bytes().size())).bytes(bits.bytes());
    return loas;
}

TEST_F(TsIngestTest, LatmGivesFramesWithTheirConfiguration) {
    tables(Content::kTeletext, Content::kAacLatm);
    fill();
    std::vector<Bytes> frames;
    for (uint32_t i = 0; i < 3; i++) {
        frames.push_back(counted({0x21}, 100, i));
        ts_.pes(kAudioPid, kStart + i * 1'920, {}, latm(frames.back(), i == 0));
    }
    feed();
    ASSERT_EQ(configs_.size(), 1U);
    EXPECT_EQ(payload(configs_[0]), from_hex("1190"));
    ASSERT_EQ(audio_.size(), 3U);
    for (size_t i = 0; i < 3; i++) {
        EXPECT_EQ(payload(audio_[i]), frames[i]);
        EXPECT_EQ(audio_[i]->time_ms() - audio_[0]->time_ms(),
                  static_cast<int64_t>(i * 1'920 / 90));
    }
}

TEST_F(TsIngestTest, AConfigurationOfLatmThatComesBeforeTheFirstPictureIsKept) {
    tables(Content::kH264, Content::kAacLatm);
    fill();
    const Bytes frame_bytes = counted({0x21}, 100, 1);
    ts_.pes(kAudioPid, kStart, {}, latm(frame_bytes, true));
    ts_.pes(kAudioPid, kStart + 1'920, {}, latm(frame_bytes, false));
    key(kStart, 0);
    frame(kStart + kFrame, 1);
    for (uint64_t i = 2; i < 6; i++) {
        ts_.pes(kAudioPid, kStart + i * 1'920, {}, latm(frame_bytes, false));
    }
    feed();
    EXPECT_GE(audio_.size(), 2U);
    ASSERT_EQ(configs_.size(), 2U);
    EXPECT_EQ(payload(configs_[1]), from_hex("1190"));
}

TEST_F(TsIngestTest, LayerTwoAndUnnamedChannelsAreCountedOnly) {
    tables(Content::kH264, Content::kMpegAudio, 3);
    fill();
    ts_.pes(kAudioPid, kStart, {}, counted({0xFF, 0xFD, 0xA4, 0x00}, 576));
    tables(Content::kH264, Content::kAac);
    ts_.pes(kAudioPid, kStart, {}, adts(1, 3, 0));
    feed();
    EXPECT_TRUE(audio_.empty());
    EXPECT_EQ(ingest_.stats().dropped_frames, 2U);
}

TEST_F(TsIngestTest, StreamsThatAreNotPassedOnAreNamedBehindThoseThatAre) {
    tables(Content::kH264, Content::kOtherAudio, 0x82);
    fill();
    feed();
    EXPECT_EQ(description_.unused_tracks, "") << "nothing is published";
    key(kStart, 1);
    frame(kStart + kFrame, 2);
    feed();
    frame(kStart + 2 * kFrame, 3);
    feed();
    EXPECT_NE(description_.unused_tracks.find("(PID 257)"), std::string::npos);
}

TEST_F(TsIngestTest, MoreAudioTracksHaveNumbersAndLanguages) {
    audio_tables({{0x101, "eng"}, {0x102, "ger"}, {0x103, ""}});
    fill();
    for (uint32_t i = 0; i < 5; i++) {
        i == 0 ? key(kStart, i) : frame(kStart + i * kFrame, i);
        for (const uint16_t pid : {uint16_t{0x103}, uint16_t{0x102}, uint16_t{0x101}}) {
            ts_.pes(pid, kStart + i * kFrame, {}, adts(pid * 100U + i));
        }
        feed();
    }
    std::map<uint8_t, std::vector<int64_t>> times;
    for (const media::PacketRef& packet : audio_) {
        EXPECT_EQ(packet->info().multitrack, packet->info().track_id != 0);
        times[packet->info().track_id].push_back(packet->time_ms());
    }
    ASSERT_EQ(times.size(), 3U);
    EXPECT_EQ(times[0].size(), 5U);
    EXPECT_EQ(times[2].size(), 4U) << "the default track begins first";
    EXPECT_EQ(times[1].back(), times[0].back());
    const std::vector<media::AudioTrack> expected = {{0, "en", {}}, {1, "de", {}}, {2, {}, {}}};
    EXPECT_EQ(description_.audio_tracks, expected);
    EXPECT_EQ(description_.width, test::kSampleWidth);
    ASSERT_FALSE(metadata_.empty()) << "for other nodes, which get packets only";
    EXPECT_EQ(flv::parse_metadata(metadata_.back()->body()).audio_tracks, expected);
}

// PES packets have some hundred milliseconds of audio, of one track after the other.
TEST_F(TsIngestTest, TracksThatComeInTurnsKeepTheirTimes) {
    audio_tables({{0x101, "eng"}, {0x102, "fra"}});
    fill();
    key(kStart, 0);
    for (uint64_t i = 0; i < 4; i++) {
        for (const uint16_t pid : {uint16_t{0x101}, uint16_t{0x102}}) {
            for (uint64_t k = 0; k < 10; k++) {
                ts_.pes(pid, kStart + (10 * i + k) * 1'920, {}, adts(1));
            }
        }
        feed();
    }
    std::map<uint8_t, std::vector<int64_t>> times;
    for (const media::PacketRef& packet : audio_) {
        times[packet->info().track_id].push_back(packet->time_ms());
    }
    ASSERT_EQ(times[0].size(), 40U);
    EXPECT_EQ(times[0], times[1]);
    EXPECT_EQ(ingest_.clock_jumps(), 0U);
}

TEST_F(TsIngestTest, ATrackKeepsItsNumberWhileOthersComeAndGo) {
    const auto number_of = [this](uint16_t pid, uint64_t at) {
        audio_.clear();
        ts_.pes(pid, kStart + at * kFrame, {}, adts(1));
        ts_.pes(pid, kStart + at * kFrame + 1'920, {}, adts(2));
        feed();
        return audio_.empty() ? -1 : int{audio_.back()->info().track_id};
    };
    audio_tables({{0x101, "eng"}, {0x102, "deu"}, {0x103, "fra"}});
    fill();
    key(kStart, 0);
    EXPECT_EQ(number_of(0x101, 0), 0);
    EXPECT_EQ(number_of(0x102, 1), 1);
    EXPECT_EQ(number_of(0x103, 2), 2);
    audio_tables({{0x101, "eng"}, {0x103, "fra"}, {0x104, "ita"}});
    EXPECT_EQ(number_of(0x103, 3), 2);
    EXPECT_EQ(number_of(0x104, 4), 1) << "the number of the one that has gone";
    audio_tables({{0x103, "fra"}, {0x104, "ita"}});
    EXPECT_EQ(number_of(0x103, 5), 0) << "it is the first one now";
    EXPECT_EQ(number_of(0x104, 6), 1);
    audio_tables({{0x103, "fra"}});
    EXPECT_EQ(number_of(0x103, 7), 0);
    EXPECT_TRUE(description_.audio_tracks.empty());
    EXPECT_TRUE(flv::parse_metadata(metadata_.back()->body()).audio_tracks.empty());
}

TEST_F(TsIngestTest, ManyAudioTracksAreBounded) {
    std::vector<std::pair<uint16_t, std::string>> tracks;
    for (uint16_t i = 0; i < 200; i++) {
        tracks.emplace_back(static_cast<uint16_t>(0x200 + i), "eng");
    }
    tracks.resize(60);  // that a PMT has room for
    audio_tables(tracks);
    fill();
    key(kStart, 0);
    for (const auto& [pid, language] : tracks) {
        ts_.pes(pid, kStart, {}, adts(1));
        ts_.pes(pid, kStart + 1'920, {}, adts(1));
    }
    feed();
    std::set<uint8_t> numbers;
    for (const media::PacketRef& packet : audio_) {
        numbers.insert(packet->info().track_id);
    }
    EXPECT_EQ(numbers, (std::set<uint8_t>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(description_.audio_tracks.size(), media::Description::kMaxAudioTracks);
}

TEST_F(TsIngestTest, ATimeThatJumpsGoesOnInBothTracks) {
    tables(Content::kH264, Content::kAac);
    fill();
    for (uint32_t i = 0; i < 10; i++) {
        const uint64_t dts = (i < 5 ? 0x1'0000'0000U : 7U) + i * kFrame;
        key(dts, i);
        ts_.pes(kAudioPid, dts, {}, adts(i));
        feed();
    }
    ASSERT_EQ(video_.size(), 10U);
    for (size_t i = 1; i < 10; i++) {
        EXPECT_EQ(video_[i]->time_ms() - video_[i - 1]->time_ms(), 40);
        EXPECT_EQ(audio_[i]->time_ms(), video_[i]->time_ms());
    }
    EXPECT_EQ(ingest_.clock_jumps(), 1U);
}

TEST_F(TsIngestTest, AudioOfBeforeThePictureIsLeftOut) {
    tables(Content::kH264, Content::kAac);
    fill();
    key(kStart, 1);
    ts_.pes(kAudioPid, kStart - 9'000, {}, adts(1));
    ts_.pes(kAudioPid, kStart, {}, adts(2));
    feed();
    ASSERT_EQ(audio_.size(), 1U);
    EXPECT_EQ(audio_[0]->time_ms(), video_[0]->time_ms());
}

// To a player the stream would be one without video.
TEST_F(TsIngestTest, AudioWaitsForTheFirstPictureButNotForEver) {
    tables(Content::kH264, Content::kAac);
    fill();
    ts_.pes(kAudioPid, kStart, {}, adts(1));
    feed();
    EXPECT_TRUE(audio_.empty());
    now_ += TsIngest::kVideoWait;
    ts_.pes(kAudioPid, kStart + 450'000, {}, adts(2));
    feed();
    EXPECT_EQ(audio_.size(), 1U);
}

TEST_F(TsIngestTest, SaysThatThereWillBeAudio) {
    tables(Content::kH264, Content::kAac);
    fill();
    key(kStart, 1);
    feed();
    EXPECT_TRUE(description_.names_video);
    EXPECT_TRUE(description_.names_audio);
}

TEST_F(TsIngestTest, AnotherKindOfStreamIsAnError) {
    Bytes other;
    for (int i = 0; i < 10; i++) {
        other.insert(other.end(), 4, 0);
        const Bytes packet = test::ts_packet(mpegts::kNullPid, 0, false, Bytes(184, 0xFF));
        other.insert(other.end(), packet.begin(), packet.end());
    }
    Error failed = ingest_.feed(now_, other);
    EXPECT_EQ(failed.code(), ErrorCode::kUnsupported);
    EXPECT_FALSE(ingest_.feed(now_, other));
}

}  // namespace
}  // namespace weir::net
