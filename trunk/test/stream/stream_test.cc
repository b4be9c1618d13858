#include "stream/stream.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/media_packets.h"

namespace weir::stream {
namespace {

using media::TrackKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr auto kAudio = TrackKind::kAudio;
constexpr auto kVideo = TrackKind::kVideo;
constexpr auto kData = TrackKind::kData;

struct FakePublisher final : Publisher {
    explicit FakePublisher(std::string name = "client p1234567 from 192.0.2.1")
        : name_(std::move(name)) {}

    std::string describe() const override { return name_; }

    std::string_view client_id() const override { return "p1234567"; }

    void on_taken_over() override { taken_over++; }

    int taken_over = 0;

  private:
    std::string name_;
};

// Writes down what it gets: "K" key frame, "v" video, "a" audio, "V" and "A" configurations, "m"
// metadata, "d" data; an entry where a cursor may start is followed by "(configurations)".
class FakeMuxer final : public Muxer {
  public:
    static std::string letter(const media::PacketInfo& info) {
        const bool video = info.kind == kVideo;
        if (info.kind == kData) {
            return info.metadata ? "m" : "d";
        }
        if (info.config) {
            return video ? "V" : "A";
        }
        return info.key && video ? "K" : video ? "v" : "a";
    }

    void on_packet(const media::PacketRef& packet, const Configs* start) override {
        std::string text = letter(packet->info());
        if (start) {
            text += "(";
            for (const media::PacketRef& config : *start) {
                text += letter(config->info());
            }
            text += ")";
        }
        seen.push_back(text);
        times.push_back(packet->time_ms());
        bodies.emplace_back(packet->body().begin(), packet->body().end());
        if (start) {
            configs = *start;
        }
        log().begin_entry(packet->time_ms(), start != nullptr);
        log().write(packet->body());
        share_body(*packet);
        packets.push_back(packet);
        log().end_entry();
    }

    std::vector<std::string> take() { return std::exchange(seen, {}); }

    std::vector<std::string> seen;
    std::vector<int64_t> times;
    std::vector<Bytes> bodies;
    Configs configs;
    Configs packets;
};

class StreamTest : public testing::Test {
  protected:
    explicit StreamTest(uint64_t gop_cap_bytes = 10'000)
        : stream_({std::string(kDefaultVhost), "live", "a"}, StreamOptions{gop_cap_bytes}, began_) {
        stream_.attach(muxer_);
        begin(publisher_);
    }

    ~StreamTest() override {
        stream_.detach(muxer_);
        if (stream_.publisher()) {
            stream_.end_publish(*stream_.publisher(), now_);
        }
    }

    void begin(FakePublisher& publisher, PublishConflict policy = PublishConflict::kRefuse) {
        Error error = stream_.start_publish(publisher, policy, now_);
        ASSERT_FALSE(error) << error.message();
        current_ = &publisher;
    }

    // The publisher's clock is the wall clock, from 0 on.
    uint32_t clock() const {
        return static_cast<uint32_t>(std::chrono::duration_cast<Millis>(now_ - began_).count());
    }

    void send(TrackKind kind, Bytes body) {
        stream_.publish(*current_, test::packet(kind, clock(), std::move(body)), now_);
    }

    void pass(int64_t ms) { now_ += Millis(ms); }

    void key() {
        pass(40);
        send(kVideo, test::avc_frame(true, ++marker_));
    }

    void video(size_t size = 40) {
        pass(40);
        send(kVideo, test::avc_frame(false, ++marker_, size));
    }

    void audio() {
        pass(20);
        send(kAudio, test::aac_frame(++marker_));
    }

    // What a muxer gets that is attached now.
    std::vector<std::string> joined() {
        FakeMuxer late;
        stream_.attach(late);
        stream_.detach(late);
        return late.seen;
    }

    MonoTime began_{Seconds(500)};
    MonoTime now_ = began_;
    uint32_t marker_ = 0;
    FakePublisher publisher_;
    FakePublisher* current_ = nullptr;
    Stream stream_;
    FakeMuxer muxer_;
};

// Whose GOPs are kept, however large.
class StreamOfAnyGopTest : public StreamTest {
  protected:
    StreamOfAnyGopTest() : StreamTest(StreamOptions().gop_cap_bytes) {}
};

TEST_F(StreamTest, AKeyFrameIsWherePlayersStart) {
    send(kData, test::metadata(1));
    send(kVideo, test::avc_header());
    send(kAudio, test::aac_header());
    key();
    audio();
    video();
    key();
    EXPECT_THAT(muxer_.take(), ElementsAre("m", "V", "A", "K(mVA)", "a", "v", "K(mVA)"));
}

TEST_F(StreamTest, FramesBeforeTheFirstKeyFrameAreDropped) {
    send(kVideo, test::avc_header());
    video();
    video();
    EXPECT_EQ(stream_.frames_before_key_dropped(), 2U);
    key();
    EXPECT_THAT(muxer_.take(), ElementsAre("V", "K(V)"));
}

TEST_F(StreamTest, AudioWithoutVideoStartsAtEveryFrame) {
    send(kAudio, test::aac_header());
    audio();
    audio();
    EXPECT_THAT(muxer_.take(), ElementsAre("A", "a(A)", "a(A)"));
    EXPECT_THAT(joined(), ElementsAre("a(A)")) << "the newest entry only";
}

TEST_F(StreamTest, OnceVideoIsThereOnlyItsKeyFramesAreStarts) {
    audio();
    key();
    audio();
    EXPECT_THAT(muxer_.take(), ElementsAre("a()", "K()", "a"));
}

TEST_F(StreamTest, AnAnnouncedVideoIsWaitedFor) {
    send(kVideo, test::avc_header());
    send(kAudio, test::aac_header());
    audio();
    audio();
    EXPECT_THAT(muxer_.take(), ElementsAre("V", "A", "a", "a"))
        << "a player starts at the key frame that is to come";
    key();
    EXPECT_THAT(muxer_.take(), ElementsAre("K(VA)"));
}

TEST_F(StreamTest, AnAnnouncedVideoThatNeverComesIsGivenUp) {
    send(kVideo, test::avc_header());
    audio();
    EXPECT_TRUE(stream_.has_video());
    for (int i = 0; i < 110; i++) {
        audio();
    }
    EXPECT_EQ(muxer_.seen.back(), "a()") << "whoever is told of it waits for it";
    EXPECT_FALSE(stream_.has_video());
    muxer_.take();
    key();
    EXPECT_THAT(muxer_.take(), ElementsAre("V", "K(V)"));
    EXPECT_TRUE(stream_.has_video());
}

// RTSP and metadata of RTMP name tracks before they come.
TEST_F(StreamTest, AVideoThatIsNamedIsWaitedForAsIfItWereAnnounced) {
    media::Description description;
    description.names_video = true;
    stream_.describe(*current_, description);
    audio();
    EXPECT_THAT(muxer_.take(), ElementsAre("a")) << "no start";
    send(kVideo, test::avc_header());
    key();
    EXPECT_THAT(muxer_.take(), ElementsAre("V", "K(V)"));
}

TEST_F(StreamTest, AVideoThatIsNamedAndNeverComesIsGivenUp) {
    media::Description description;
    description.names_video = true;
    stream_.describe(*current_, description);
    for (int i = 0; i < 111; i++) {
        audio();
    }
    EXPECT_EQ(muxer_.seen.back(), "a()");
    EXPECT_FALSE(stream_.has_video());
}

TEST_F(StreamTest, AVideoThatIsAnnouncedLateAndNeverComesIsGivenUpToo) {
    for (int i = 0; i < 150; i++) {
        audio();
    }
    send(kVideo, test::avc_header());
    for (int i = 0; i < 150; i++) {
        audio();
    }
    EXPECT_EQ(muxer_.seen.back(), "a()");
    EXPECT_FALSE(stream_.has_video());
}

TEST_F(StreamTest, AnAnnouncedAudioThatNeverComesIsNotSpokenOfUntilItDoes) {
    send(kAudio, test::aac_header());
    key();
    EXPECT_TRUE(stream_.has_audio());
    for (int i = 0; i < 60; i++) {
        video();
    }
    EXPECT_FALSE(stream_.has_audio());
    key();
    EXPECT_EQ(muxer_.seen.back(), "K()");
    muxer_.take();
    audio();
    EXPECT_TRUE(stream_.has_audio());
    EXPECT_THAT(muxer_.take(), ElementsAre("A", "a"));
}

TEST_F(StreamTest, MessagesOfOnePictureAreOneFrame) {
    const auto message = [this](bool key, Bytes unit) {
        Bytes body = {static_cast<uint8_t>(key ? 0x17 : 0x27), 1, 0, 0, 0};
        ByteWriter(body).u32(static_cast<uint32_t>(unit.size())).bytes(unit);
        auto info = flv::parse_tag_body(kVideo, body);
        stream_.publish(*current_,
                        make_ref<media::MediaPacket>(info.value(), clock(), std::move(body)), now_);
    };
    for (int i = 0; i < 3; i++) {
        pass(40);
        message(i == 0, {0x09, 0xF0});
        message(i == 0, {static_cast<uint8_t>(i == 0 ? 0x65 : 0x41), 0x9A, 1});
    }
    EXPECT_THAT(muxer_.take(), ElementsAre("K()", "v", "v"));
    EXPECT_EQ(stream_.video().frames, 3U);
    EXPECT_EQ(stream_.mended().messages_joined, 3U);
}

TEST_F(StreamTest, APictureThatWaitsGoesOnWhenItsPublisherLeaves) {
    Bytes body = {0x17, 1, 0, 0, 0};
    ByteWriter(body).u32(3).u8(0x65).u8(0x9A).u8(1);
    auto info = flv::parse_tag_body(kVideo, body);
    stream_.publish(*current_, make_ref<media::MediaPacket>(info.value(), 0, std::move(body)),
                    now_);
    EXPECT_THAT(muxer_.take(), IsEmpty());
    stream_.end_publish(*current_, now_);
    EXPECT_THAT(muxer_.take(), ElementsAre("K()"));
}

TEST_F(StreamTest, AConfigurationTellsThatATrackIsThere) {
    EXPECT_FALSE(stream_.has_audio());
    EXPECT_FALSE(stream_.has_video());
    send(kAudio, test::aac_header());
    EXPECT_TRUE(stream_.has_audio())
        << "a player that starts at a video frame hears of the audio in its header";
    send(kVideo, test::avc_header());
    EXPECT_TRUE(stream_.has_video());
}

TEST_F(StreamTest, ANewPublisherHasOnlyItsOwnTracks) {
    send(kAudio, test::aac_header());
    audio();
    send(kVideo, test::avc_header());
    key();
    EXPECT_TRUE(stream_.has_audio());
    EXPECT_TRUE(stream_.has_video());
    stream_.end_publish(publisher_, now_);
    begin(publisher_);
    EXPECT_FALSE(stream_.has_audio());
    EXPECT_FALSE(stream_.has_video());
}

TEST_F(StreamTest, ALateAudioHeaderDoesNotForgetTheKeyFrame) {
    send(kVideo, test::avc_header());
    key();
    video();
    send(kAudio, test::aac_header());
    audio();
    EXPECT_THAT(joined(), ElementsAre("K(V)", "v", "A", "a"));
    EXPECT_TRUE(muxer_.log().has_start());
}

TEST_F(StreamTest, AChangedVideoHeaderForgetsTheGop) {
    send(kVideo, test::avc_header(1));
    key();
    video();
    send(kVideo, test::avc_header(2));
    EXPECT_THAT(joined(), IsEmpty());
    EXPECT_FALSE(muxer_.log().has_start());
    key();
    EXPECT_THAT(muxer_.take(), ElementsAre("V", "K(V)", "v", "V", "K(V)"));
    EXPECT_EQ(muxer_.configs.at(0)->body()[8], 2) << "the new one is in force";
}

TEST_F(StreamTest, AChangedAudioHeaderOrMetadataKeepsTheStart) {
    send(kData, test::metadata(1));
    send(kVideo, test::avc_header(1));
    send(kAudio, test::aac_header(1));
    key();
    send(kAudio, test::aac_header(2));
    send(kData, test::metadata(2));
    audio();
    EXPECT_THAT(joined(), ElementsAre("K(mVA)", "A", "m", "a"))
        << "with the old ones at the start, the new ones in their place";
    EXPECT_TRUE(muxer_.log().has_start());
}

TEST_F(StreamTest, TheSameHeaderAgainIsNotSent) {
    send(kVideo, test::avc_header(1));
    key();
    send(kVideo, test::avc_header(1));
    send(kAudio, test::aac_header(1));
    send(kAudio, test::aac_header(1));
    video();
    EXPECT_THAT(muxer_.take(), ElementsAre("V", "K(V)", "A", "v"));
    EXPECT_TRUE(muxer_.log().has_start());
}

TEST_F(StreamTest, TheSameHeaderOfTheNextPublisherIsNotSentAgain) {
    send(kVideo, test::avc_header(1));
    send(kAudio, test::aac_header(1));
    key();
    stream_.end_publish(publisher_, now_);
    FakePublisher second;
    begin(second);
    send(kVideo, test::avc_header(1));
    send(kAudio, test::aac_header(2));
    muxer_.take();
    key();
    EXPECT_THAT(muxer_.take(), ElementsAre("K(VA)")) << "who joins now gets both";
    EXPECT_EQ(muxer_.bodies.at(muxer_.bodies.size() - 2)[5], 2)
        << "players hear of the changed one";
    EXPECT_EQ(muxer_.bodies.size(), 5U) << "V, A, K, changed A, K";
}

TEST_F(StreamTest, AHeaderThatComesBackAfterAnotherOneIsSent) {
    send(kVideo, test::avc_header(1));
    key();
    send(kVideo, test::avc_header(2));
    send(kVideo, test::avc_header(1));
    key();
    EXPECT_THAT(muxer_.take(), ElementsAre("V", "K(V)", "V", "V", "K(V)"));
}

TEST_F(StreamTest, AGopPastTheCapIsNotKept) {
    key();
    video(5000);
    EXPECT_GT(stream_.gop_bytes(), 5000U);
    EXPECT_TRUE(muxer_.log().has_start());
    video(5000);
    EXPECT_EQ(stream_.gop_bytes(), 0U);
    EXPECT_FALSE(muxer_.log().has_start());
    EXPECT_THAT(joined(), IsEmpty());
    video();
    EXPECT_EQ(stream_.gop_bytes(), 0U);
    EXPECT_THAT(muxer_.take(), ElementsAre("K()", "v", "v", "v"))
        << "who plays already misses nothing";
    key();
    EXPECT_TRUE(muxer_.log().has_start());
    EXPECT_THAT(joined(), ElementsAre("K()"));
}

TEST_F(StreamTest, AKeyFrameOverTheCapStartsNobodyWithoutConfigurations) {
    send(kVideo, test::avc_header());
    pass(40);
    send(kVideo, test::avc_frame(true, 1, 20'000));
    EXPECT_EQ(stream_.gop_bytes(), 0U);
    EXPECT_THAT(joined(), IsEmpty());
    EXPECT_FALSE(muxer_.log().has_start()) << "a log and the frames kept agree";
    EXPECT_THAT(muxer_.take(), ElementsAre("V", "K"));
}

TEST_F(StreamTest, TheGopCountsAllTracks) {
    key();
    const uint64_t with_key = stream_.gop_bytes();
    audio();
    EXPECT_EQ(stream_.gop_bytes(), with_key + test::aac_frame(1).size());
}

TEST_F(StreamTest, AttachingFillsFromTheGop) {
    send(kData, test::metadata(1));
    send(kVideo, test::avc_header());
    key();
    video();
    key();
    video();
    audio();
    FakeMuxer late;
    stream_.attach(late);
    EXPECT_THAT(late.seen, ElementsAre("K(mV)", "v", "a"));
    const std::vector<Bytes> tail(muxer_.bodies.end() - 3, muxer_.bodies.end());
    EXPECT_EQ(late.bodies, tail);
    EXPECT_EQ(late.times, std::vector<int64_t>(muxer_.times.end() - 3, muxer_.times.end()));
    video();
    EXPECT_EQ(late.seen.back(), "v") << "and keeps it informed";
    stream_.detach(late);
    video();
    EXPECT_EQ(late.seen.size(), 4U);
}

TEST_F(StreamTest, AFrameThatIsInALogIsNotKeptTwice) {
    send(kVideo, test::avc_header());
    key();
    video();
    audio();
    ASSERT_EQ(muxer_.seen, (std::vector<std::string>{"V", "K(V)", "v", "a"}));
    for (size_t i = 0; i < muxer_.packets.size(); i++) {
        const media::MediaPacket& packet = *muxer_.packets[i];
        EXPECT_EQ(packet.has_own_body(), packet.info().config)
            << "a configuration outlives the log";
        EXPECT_EQ(Bytes(packet.body().begin(), packet.body().end()), muxer_.bodies[i]);
    }
    FakeMuxer late;
    stream_.attach(late);
    EXPECT_EQ(late.bodies, std::vector<Bytes>(muxer_.bodies.begin() + 1, muxer_.bodies.end()));
    stream_.detach(late);
}

TEST_F(StreamTest, AFrameThatIsInNoLogKeepsItsBody) {
    stream_.detach(muxer_);
    key();
    video();
    EXPECT_GT(stream_.gop_bytes(), 0U);
    EXPECT_EQ(stream_.own_gop_bytes(), stream_.gop_bytes());
    stream_.attach(muxer_);
    EXPECT_EQ(stream_.own_gop_bytes(), 0U);
    ASSERT_EQ(muxer_.packets.size(), 2U);
    EXPECT_EQ(muxer_.bodies[0], test::avc_frame(true, 1));
    EXPECT_FALSE(muxer_.packets[0]->has_own_body()) << "from now on it is in that log";
}

TEST_F(StreamTest, EarlyAudioHoldsNothingOfTheLogs) {
    key();
    send(kAudio, test::aac_frame(50));
    pass(40);
    send(kAudio, test::aac_frame(51));
    send(kVideo, test::avc_frame(true, 52));  // of the same time, and behind the audio
    ASSERT_EQ(muxer_.seen.back(), "K(a)");
    EXPECT_TRUE(muxer_.configs.at(0)->has_own_body());
    const ByteSpan body = muxer_.configs.at(0)->body();
    EXPECT_EQ(Bytes(body.begin(), body.end()), test::aac_frame(51));
}

TEST_F(StreamOfAnyGopTest, EarlyAudioOfTheDefaultTrackIsKeptWhereThatOfAllIsTooMuch) {
    send(kAudio, test::aac_header());
    send(kAudio, test::aac_multitrack(1, true, 1));
    key();
    audio();
    const uint32_t late = clock();
    for (int i = 0; i < 3; i++) {
        audio();
        Bytes large = test::aac_multitrack(1, false, 2);
        large.resize(Stream::kMaxEarlyBytes / 2);
        send(kAudio, std::move(large));
    }
    stream_.publish(publisher_, test::packet(kVideo, late + 10, test::avc_frame(true, 9)), now_);
    std::vector<int> tracks;
    for (const media::PacketRef& each : muxer_.configs) {
        tracks.push_back(each->info().track_id);
    }
    EXPECT_THAT(tracks, ElementsAre(0, 1, 0, 0, 0)) << "both configurations, and the frames of one";
}

TEST_F(StreamTest, AGopThatIsOverHoldsNoBlockOfALog) {
    const uint64_t before = LogBlock::live_blocks();
    key();
    for (int i = 0; i < 20; i++) {
        video(300);
    }
    EXPECT_GT(LogBlock::live_blocks(), before);
    muxer_.packets.clear();
    stream_.end_publish(publisher_, now_);
    EXPECT_EQ(LogBlock::live_blocks(), before) << "the one that the log writes into";
}

TEST_F(StreamTest, ASecondPublisherIsRefusedAndOnlyTheLogLearnsWhoHoldsTheName) {
    pass(7000);
    FakePublisher second("client s from 198.51.100.7");
    Error busy = stream_.start_publish(second, PublishConflict::kRefuse, now_);
    ASSERT_TRUE(busy);
    EXPECT_EQ(busy.code(), ErrorCode::kBusy);
    EXPECT_THAT(std::string(busy.message()), HasSubstr("/live/a"));
    EXPECT_THAT(std::string(busy.message()), Not(HasSubstr("p1234567")));
    EXPECT_THAT(std::string(busy.message()), Not(HasSubstr("192.0.2.1")));
    EXPECT_EQ(stream_.describe_holder(now_), " (by client p1234567 from 192.0.2.1 for 7 s)");
    EXPECT_EQ(publisher_.taken_over, 0);
    stream_.publish(second, test::packet(kVideo, 0, test::avc_frame(true, 1)), now_);
    EXPECT_THAT(muxer_.seen, IsEmpty()) << "what it sends all the same is ignored";
    stream_.end_publish(second, now_);
    EXPECT_TRUE(stream_.live());
}

TEST_F(StreamTest, ATakeoverTellsTheHolderAndIgnoresItFromThenOn) {
    key();
    FakePublisher second;
    begin(second, PublishConflict::kTakeover);
    EXPECT_EQ(publisher_.taken_over, 1);
    EXPECT_EQ(stream_.publisher(), &second);
    stream_.publish(publisher_, test::packet(kVideo, clock(), test::avc_frame(true, 9)), now_);
    stream_.end_publish(publisher_, now_);
    EXPECT_TRUE(stream_.live());
    video();
    EXPECT_THAT(muxer_.take(), ElementsAre("K()")) << "the new one begins with a key frame";
    key();
    EXPECT_THAT(muxer_.take(), ElementsAre("K()"));
}

TEST_F(StreamTest, APublisherThatLostTheNameToAnotherNodeIsToldSoAndNobodyFollows) {
    key();
    stream_.lose_publisher(now_);
    EXPECT_EQ(publisher_.taken_over, 1);
    EXPECT_FALSE(stream_.live());
    stream_.publish(publisher_, test::packet(kVideo, clock(), test::avc_frame(true, 9)), now_);
    stream_.end_publish(publisher_, now_);
    EXPECT_THAT(muxer_.take(), ElementsAre("K()")) << "only what came before";
    stream_.lose_publisher(now_);
    EXPECT_EQ(publisher_.taken_over, 1) << "there is nobody to tell";
}

TEST_F(StreamTest, TheTimelineGoesOnWithTheNextPublisher) {
    key();
    video();
    const int64_t last = muxer_.times.back();
    stream_.end_publish(publisher_, now_);
    pass(25'000);
    begin(publisher_);
    began_ = now_ - Millis(17'000'000);
    key();
    EXPECT_EQ(muxer_.times.back(), last + 40);
}

TEST_F(StreamTest, NobodyStartsOnceThePublisherHasLeft) {
    key();
    video();
    stream_.end_publish(publisher_, now_);
    EXPECT_FALSE(stream_.live());
    EXPECT_EQ(stream_.absent_since(), now_);
    EXPECT_FALSE(muxer_.log().has_start());
    EXPECT_THAT(joined(), IsEmpty());
    EXPECT_EQ(stream_.gop_bytes(), 0U);
}

TEST_F(StreamTest, VideoThatStopsGivesWayToAudio) {
    key();
    for (int i = 0; i < 499; i++) {
        audio();
    }
    EXPECT_EQ(muxer_.seen.back(), "a");
    for (int i = 0; i < 5; i++) {
        audio();
    }
    EXPECT_EQ(muxer_.seen.back(), "a()") << "who joins now hears the audio";
    EXPECT_FALSE(stream_.has_video());
    muxer_.take();
    video();
    audio();
    key();
    EXPECT_THAT(muxer_.take(), ElementsAre("a", "K()"))
        << "video that comes back begins with a key frame";
}

TEST_F(StreamTest, OnlyTheFirstVideoTrackMakesTheGop) {
    pass(40);
    send(kVideo, test::hevc_multitrack(1, true, false, 1));
    send(kVideo, test::hevc_multitrack(2, true, false, 1));
    send(kVideo, test::hevc_multitrack(1, false, true, 2));
    send(kVideo, test::hevc_multitrack(2, false, true, 3));
    pass(40);
    send(kVideo, test::hevc_multitrack(1, false, false, 4));
    send(kVideo, test::hevc_multitrack(2, false, true, 5));
    EXPECT_THAT(muxer_.take(), ElementsAre("V", "V", "K(VV)", "K", "v", "K"));
}

TEST_F(StreamTest, OnlyTheDefaultAudioTrackMakesTheStart) {
    send(kAudio, test::aac_header());
    audio();
    send(kAudio, test::aac_multitrack(1, true, 1));
    send(kAudio, test::aac_multitrack(1, false, 2));
    EXPECT_THAT(muxer_.take(), ElementsAre("A", "a(A)", "A", "a"));
    EXPECT_EQ(stream_.default_audio(), 0);
    EXPECT_EQ(stream_.audio().frames, 1U);
    ASSERT_NE(stream_.config(kAudio), nullptr);
    EXPECT_EQ(stream_.config(kAudio)->info().track_id, 0);
}

TEST_F(StreamTest, MoreAudioTracksDoNotMoveTheTimesOfTheDefaultOne) {
    const auto more = [this](uint32_t ahead_ms) {
        stream_.publish(publisher_,
                        test::packet(kAudio, clock() + ahead_ms, test::aac_multitrack(1, false, 2)),
                        now_);
    };
    key();
    audio();
    const int64_t first = muxer_.times.back();
    more(600);
    EXPECT_EQ(muxer_.times.back(), first + 600);
    audio();
    EXPECT_NEAR(static_cast<double>(muxer_.times.back()), static_cast<double>(first + 20), 3);
    const size_t count = muxer_.times.size();
    more(60'000);
    EXPECT_EQ(muxer_.times.size(), count) << "nothing of the stream is near: left out";
    EXPECT_EQ(stream_.more_audio_dropped(), 1U);
}

// As on another node, whose first frame is any that follows the key frame.
TEST_F(StreamTest, TheAudioTrackThatWasNamedFirstIsTheDefaultWhicheverFrameComesFirst) {
    send(kAudio, test::aac_multitrack(1, true, 1));
    send(kAudio, test::aac_multitrack(2, true, 1));
    key();
    send(kAudio, test::aac_multitrack(2, false, 2));
    EXPECT_EQ(stream_.default_audio(), 1);
    send(kAudio, test::aac_multitrack(1, false, 2));
    pass(2'000);
    send(kAudio, test::aac_multitrack(2, false, 3));
    EXPECT_EQ(stream_.default_audio(), 1);
    EXPECT_EQ(stream_.audio().frames, 1U);
}

TEST_F(StreamTest, ANamedAudioTrackThatNeverComesGivesWayToAnother) {
    send(kAudio, test::aac_multitrack(1, true, 1));
    send(kAudio, test::aac_multitrack(2, true, 1));
    key();
    send(kAudio, test::aac_multitrack(2, false, 2));
    pass(1'000);
    send(kAudio, test::aac_multitrack(2, false, 3));
    EXPECT_EQ(stream_.default_audio(), 2);
    EXPECT_EQ(stream_.audio().frames, 1U);
}

TEST_F(StreamTest, MoreAudioTracksGoOnWhileTheDefaultOneIsSilent) {
    key();
    audio();
    for (int i = 0; i < 10; i++) {
        pass(960);
        key();
        send(kAudio, test::aac_multitrack(1, false, 2));
        EXPECT_EQ(muxer_.seen.back(), "a");
    }
    EXPECT_EQ(stream_.more_audio_dropped(), 0U);
}

TEST_F(StreamTest, DataPassesThroughWithTheTimeOfTheFrameBeforeIt) {
    key();
    send(kData, test::cue_point(3));
    EXPECT_THAT(muxer_.take(), ElementsAre("K()", "d"));
    EXPECT_EQ(muxer_.times.at(1), muxer_.times.at(0));
    EXPECT_THAT(joined(), ElementsAre("K()", "d"));
}

TEST_F(StreamTest, ManyConfigurationsAreBounded) {
    for (int track = 0; track < 200; track++) {
        send(kVideo, test::hevc_multitrack(static_cast<uint8_t>(track), true, false, 1));
    }
    key();
    EXPECT_LE(muxer_.configs.size(), Stream::kMaxConfigs);
}

TEST_F(StreamTest, CountsWhatThePublisherSent) {
    send(kVideo, test::avc_header());
    key();
    video();
    audio();
    EXPECT_EQ(stream_.video().frames, 2U);
    EXPECT_EQ(stream_.video().codec, media::Codec::kH264);
    EXPECT_EQ(stream_.audio().frames, 1U);
    EXPECT_EQ(stream_.audio().codec, media::Codec::kAac);
    EXPECT_EQ(stream_.bytes_received(), test::avc_header().size() +
                                            2 * test::avc_frame(true, 1).size() +
                                            test::aac_frame(1).size());
    stream_.end_publish(publisher_, now_);
    begin(publisher_);
    EXPECT_EQ(stream_.video().frames, 0U);
    EXPECT_EQ(stream_.bytes_received(), 0U);
}

TEST_F(StreamTest, GivesTheConfigurationsInForce) {
    EXPECT_EQ(stream_.config(kVideo), nullptr);
    send(kVideo, test::avc_header(3));
    send(kData, test::metadata(1));
    ASSERT_NE(stream_.config(kVideo), nullptr);
    EXPECT_EQ(Bytes(stream_.config(kVideo)->body().begin(), stream_.config(kVideo)->body().end()),
              test::avc_header(3));
    EXPECT_EQ(stream_.config(kAudio), nullptr);
    EXPECT_NE(stream_.config(kData), nullptr);
}

TEST(StreamKeyTest, NamesTheVhostOnlyWhenItIsNotTheDefault) {
    EXPECT_EQ((StreamKey{std::string(kDefaultVhost), "live/room", "a"}).to_string(),
              "/live/room/a");
    EXPECT_EQ((StreamKey{"example.org", "live", "a"}).to_string(), "example.org/live/a");
}

TEST_F(StreamTest, KnowsLengthAndFramesOfTheLastGop) {
    EXPECT_EQ(stream_.gop().key_frames, 0U);
    EXPECT_EQ(stream_.key_frame(), nullptr);
    send(kVideo, test::avc_header());
    key();
    EXPECT_EQ(stream_.gop().key_frames, 1U);
    EXPECT_EQ(stream_.gop().last_ms, 0) << "one key frame ends nothing";
    ASSERT_NE(stream_.key_frame(), nullptr);
    EXPECT_TRUE(stream_.key_frame()->info().key);
    for (int i = 0; i < 24; i++) {
        video();
    }
    const MonoTime before = now_;
    key();
    EXPECT_EQ(stream_.gop().key_frames, 2U);
    EXPECT_EQ(stream_.gop().last_frames, 25U);
    EXPECT_EQ(stream_.gop().last_ms, 1'000);
    EXPECT_EQ(stream_.gop().key_at, before + Millis(40));
    video();
    EXPECT_EQ(stream_.gop().last_frames, 25U) << "the open one is not told";
    stream_.end_publish(publisher_, now_);
    begin(publisher_);
    EXPECT_EQ(stream_.gop().key_frames, 0U) << "those of the publisher before";
}

TEST_F(StreamTest, KnowsItsRates) {
    RateClock clock;
    send(kVideo, test::avc_header());
    for (int second = 0; second < 40; second++) {
        key();
        for (int i = 0; i < 24; i++) {
            video(1'000);
        }
        stream_.note_sent(50'000);
        clock.tick(now_);
        stream_.sample(clock, now_);
    }
    EXPECT_NEAR(stream_.frame_rate(clock, now_, Millis(10'000)), 25, 0.1);
    EXPECT_NEAR(stream_.receive_bps(clock, now_, Millis(30'000)), 24 * 8'000, 10'000);
    EXPECT_NEAR(stream_.send_bps(clock, now_, Millis(10'000)), 400'000, 1'000);
    const uint64_t received = stream_.bytes_received_ever();
    stream_.end_publish(publisher_, now_);
    EXPECT_EQ(stream_.receive_bps(clock, now_, Millis(30'000)), 0) << "nobody publishes";
    begin(publisher_);
    EXPECT_EQ(stream_.bytes_received(), 0U);
    EXPECT_EQ(stream_.bytes_received_ever(), received);
    EXPECT_EQ(stream_.bytes_sent(), 40U * 50'000);
}

}  // namespace
}  // namespace weir::stream
