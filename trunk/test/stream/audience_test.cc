// Sound that is there twice, each for its own audience; and what players want of a publisher.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "stream/stream.h"

#include "test/support/media_packets.h"

namespace weir::stream {
namespace {

using media::Audience;
using media::TrackKind;

constexpr MonoTime kNow{Seconds(100)};

struct TestPublisher final : Publisher {
    std::string describe() const override { return "the test"; }

    std::string_view client_id() const override { return "test"; }

    void on_taken_over() override {}

    void on_key_frame_wanted() override { wanted++; }

    int wanted = 0;
};

struct Sink final : PacketSink {
    explicit Sink(Audience whose) : whose_(whose) {}

    Audience audience() const override { return whose_; }

    void on_packet(const media::PacketRef& packet, const Configs* start) override {
        packets.push_back(packet);
        if (start) {
            starts++;
            configs = *start;
        }
    }

    void on_start_lost(StartLost) override { lost++; }

    size_t count(media::Codec codec) const {
        return static_cast<size_t>(std::ranges::count_if(
            packets, [codec](const auto& packet) { return packet->info().codec == codec; }));
    }

    std::vector<media::PacketRef> packets;
    Configs configs;
    int starts = 0;
    int lost = 0;

  private:
    Audience whose_;
};

class AudienceTest : public testing::Test {
  protected:
    AudienceTest() {
        Error error = stream_.start_publish(publisher_, PublishConflict::kRefuse, kNow);
        EXPECT_FALSE(error);
        stream_.attach(flv_);
        stream_.attach(webrtc_);
    }

    ~AudienceTest() override {
        stream_.detach(flv_);
        stream_.detach(webrtc_);
        stream_.end_publish(publisher_, kNow);
    }

    // As it came: Opus, for players that know it.
    media::PacketRef sound(uint32_t time_ms, uint32_t marker = 1) {
        Ref<media::MediaPacket> made = with(Audience::kWebRtc, time_ms, opus(marker));
        stream_.publish(publisher_, made, kNow);
        return media::PacketRef(made);
    }

    void derived(int64_t time_ms, Bytes body, const Publisher* from = nullptr) {
        stream_.publish_derived(from ? *from : publisher_,
                                with(Audience::kFlv, time_ms, std::move(body)), kNow);
    }

    void picture(bool key, uint32_t time_ms) {
        stream_.publish(publisher_,
                        test::packet(TrackKind::kVideo, time_ms, test::avc_frame(key, time_ms)),
                        kNow);
    }

    static Bytes opus(uint32_t marker) {
        constexpr uint8_t kOneFrameOf20Ms = 0x78;  // TOC, RFC 6716 §3.1
        return test::filled({0x91, 'O', 'p', 'u', 's', kOneFrameOf20Ms}, marker, 19);
    }

    static Ref<media::MediaPacket> with(Audience audience, int64_t time_ms, Bytes body) {
        auto info = flv::parse_tag_body(TrackKind::kAudio, body);
        EXPECT_TRUE(info.has_value());
        info->audience = audience;
        return make_ref<media::MediaPacket>(*info, time_ms, std::move(body));
    }

    TestPublisher publisher_;
    Stream stream_{{"v", "live", "a"}, {}, kNow};
    Sink flv_{Audience::kFlv};
    Sink webrtc_{Audience::kWebRtc};
};

TEST_F(AudienceTest, EachAudienceGetsItsSoundAndEverybodyThePicture) {
    derived(0, test::aac_header());
    picture(true, 0);
    const media::PacketRef came = sound(0);
    derived(came->time_ms(), test::aac_frame(2));
    EXPECT_EQ(flv_.count(media::Codec::kH264), 1U);
    EXPECT_EQ(webrtc_.count(media::Codec::kH264), 1U);
    EXPECT_EQ(flv_.count(media::Codec::kAac), 2U);
    EXPECT_EQ(flv_.count(media::Codec::kOpus), 0U);
    EXPECT_EQ(webrtc_.count(media::Codec::kOpus), 1U);
    EXPECT_EQ(webrtc_.count(media::Codec::kAac), 0U);
}

TEST_F(AudienceTest, ContainersOfMpegGetAacForWhatTelephonesSpeak) {
    Sink mpeg(Audience::kMpeg);
    Sink original(Audience::kOriginal);
    stream_.attach(mpeg);
    stream_.attach(original);
    Ref<media::MediaPacket> spoken =
        with(Audience::kAllButMpeg, 0, test::filled({0x82}, 7, 160));  // G.711
    stream_.publish(publisher_, spoken, kNow);
    stream_.publish_derived(publisher_, with(Audience::kMpeg, 0, test::aac_header()), kNow);
    stream_.publish_derived(publisher_,
                            with(Audience::kMpeg, spoken->time_ms(), test::aac_frame(2)), kNow);
    for (const Sink* each : {&flv_, &webrtc_, &original}) {
        EXPECT_EQ(each->count(media::Codec::kG711U), 1U);
        EXPECT_EQ(each->count(media::Codec::kAac), 0U);
    }
    EXPECT_EQ(mpeg.count(media::Codec::kG711U), 0U);
    EXPECT_EQ(mpeg.count(media::Codec::kAac), 2U);
    EXPECT_EQ(mpeg.starts, 1);  // where a player of it may begin
    stream_.detach(original);
    stream_.detach(mpeg);
}

TEST_F(AudienceTest, ContainersOfMpegGetTheAacOfWebRtcAndCountAsItsAudience) {
    stream_.detach(flv_);
    Sink mpeg(Audience::kMpeg);
    EXPECT_FALSE(stream_.has_audience(Audience::kFlv));
    stream_.attach(mpeg);
    EXPECT_TRUE(stream_.has_audience(Audience::kFlv));
    EXPECT_TRUE(stream_.has_audience(Audience::kMpeg));
    derived(0, test::aac_header());
    EXPECT_EQ(mpeg.count(media::Codec::kAac), 1U);
    stream_.detach(mpeg);
    stream_.attach(flv_);
}

TEST_F(AudienceTest, APlayerThatComesLongAfterTheKeyFrameGetsANewOne) {
    stream_.note_new_player();
    EXPECT_EQ(publisher_.wanted, 0) << "there is no picture";
    picture(true, 0);
    picture(false, Stream::kOldStartMs);
    stream_.note_new_player();
    EXPECT_EQ(publisher_.wanted, 0);
    picture(false, Stream::kOldStartMs + 40);
    stream_.note_new_player();
    EXPECT_EQ(publisher_.wanted, 1);
}

TEST_F(AudienceTest, ConfigurationsOfOthersAreNotGivenWithAStart) {
    derived(0, test::aac_header());
    stream_.publish(publisher_,
                    with(Audience::kWebRtc, 0, test::filled({0x90, 'O', 'p', 'u', 's'}, 1, 19)),
                    kNow);
    stream_.publish(publisher_, test::packet(TrackKind::kVideo, 0, test::avc_header()), kNow);
    picture(true, 0);
    ASSERT_EQ(flv_.starts, 1);
    ASSERT_EQ(webrtc_.starts, 1);
    Sink original(Audience::kOriginal);
    stream_.attach(original);
    EXPECT_EQ(original.starts, 1);
    for (const auto& [sink, foreign] :
         {std::pair(&flv_, media::Codec::kOpus), std::pair(&webrtc_, media::Codec::kAac),
          std::pair(&original, media::Codec::kAac)}) {
        EXPECT_EQ(sink->configs.size(), 2U);
        for (const media::PacketRef& config : sink->configs) {
            EXPECT_NE(config->info().codec, foreign);
        }
    }
    stream_.detach(original);
    // Nor to one that comes later.
    Sink late(Audience::kFlv);
    stream_.attach(late);
    EXPECT_EQ(late.starts, 1);
    EXPECT_EQ(late.count(media::Codec::kOpus), 0U);
    stream_.detach(late);
}

TEST_F(AudienceTest, DerivedFramesKeepTheTimeOfWhatTheyWereMadeOf) {
    picture(true, 5'000'000);
    const media::PacketRef first = sound(5'000'000);
    derived(first->time_ms(), test::aac_frame(1));
    const media::PacketRef second = sound(5'000'020);
    derived(second->time_ms(), test::aac_frame(2));
    EXPECT_EQ(second->time_ms() - first->time_ms(), 20);
    ASSERT_EQ(flv_.count(media::Codec::kAac), 2U);
    EXPECT_EQ(flv_.packets.back()->time_ms(), second->time_ms());
    EXPECT_EQ(flv_.packets[flv_.packets.size() - 2]->time_ms(), first->time_ms());
}

// The session knows its own clock only, and a configuration stands where it is sent.
TEST_F(AudienceTest, DerivedConfigurationIsPlacedOnTheTimeline) {
    picture(true, 5'000'000);
    picture(false, 5'000'400);
    const int64_t latest = flv_.packets.back()->time_ms();
    derived(77'000'000, test::aac_header());
    EXPECT_EQ(flv_.packets.back()->time_ms(), latest);
    EXPECT_EQ(flv_.count(media::Codec::kAac), 1U);
    derived(77'000'000, test::aac_header());  // the same again
    EXPECT_EQ(flv_.count(media::Codec::kAac), 1U);
    derived(77'000'000, test::aac_header(2));
    EXPECT_EQ(flv_.count(media::Codec::kAac), 2U);
}

TEST_F(AudienceTest, DerivedPacketsAreNotCountedAsReceived) {
    picture(true, 0);
    sound(0);
    const uint64_t bytes = stream_.bytes_received();
    const uint64_t frames = stream_.audio().frames;
    derived(0, test::aac_header());
    derived(0, test::aac_frame(1));
    EXPECT_EQ(stream_.bytes_received(), bytes);
    EXPECT_EQ(stream_.audio().frames, frames);
    EXPECT_EQ(stream_.audio().codec, media::Codec::kOpus);
}

TEST_F(AudienceTest, DerivedPacketsOfOthersAndForEverybodyAreIgnored) {
    picture(true, 0);
    const TestPublisher stranger;
    derived(0, test::aac_frame(1), &stranger);
    stream_.publish_derived(publisher_, with(Audience::kEverybody, 0, test::aac_frame(2)), kNow);
    stream_.end_publish(publisher_, kNow);
    derived(0, test::aac_frame(3));
    EXPECT_EQ(flv_.count(media::Codec::kAac), 0U);
}

TEST_F(AudienceTest, DerivedConfigurationOverTheLimitIsDropped) {
    derived(0, test::filled({0xaf, 0}, 1, Stream::kMaxConfigBytes));
    EXPECT_EQ(flv_.count(media::Codec::kAac), 0U);
}

TEST_F(AudienceTest, SoundAloneStartsBothAudiences) {
    derived(0, test::aac_header());
    const media::PacketRef came = sound(20);
    EXPECT_EQ(webrtc_.starts, 1);
    derived(came->time_ms(), test::aac_frame(1));
    EXPECT_EQ(flv_.starts, 1);
    Sink late(Audience::kFlv);
    stream_.attach(late);
    EXPECT_EQ(late.count(media::Codec::kAac), 1U);
    EXPECT_EQ(late.starts, 1);
    stream_.detach(late);
}

TEST_F(AudienceTest, AudienceIsThereWhileASinkOfItIs) {
    EXPECT_TRUE(stream_.has_audience(Audience::kFlv));
    EXPECT_TRUE(stream_.has_audience(Audience::kWebRtc));
    stream_.detach(flv_);
    EXPECT_FALSE(stream_.has_audience(Audience::kFlv));
    EXPECT_TRUE(stream_.has_audience(Audience::kWebRtc));
}

TEST_F(AudienceTest, OnlyThePublisherThatIsThereIsAskedForAKeyFrame) {
    stream_.want_key_frame();
    EXPECT_EQ(publisher_.wanted, 1);
    stream_.end_publish(publisher_, kNow);
    stream_.want_key_frame();
    EXPECT_EQ(publisher_.wanted, 1);
}

std::vector<int64_t> times_of_frames(const Configs& packets) {
    std::vector<int64_t> times;
    for (const media::PacketRef& packet : packets) {
        if (!packet->info().config && !packet->info().metadata) {
            times.push_back(packet->time_ms());
        }
    }
    return times;
}

// An encoder under load gives a picture long after the sound of its moment.
TEST_F(AudienceTest, SoundThatCameBeforeItsKeyFrameIsPartOfTheStart) {
    picture(true, 0);
    const int64_t begin = flv_.packets.back()->time_ms();
    for (uint32_t time = 0; time < 900; time += 20) {
        sound(time);
        derived(begin + time, test::aac_frame(time));
    }
    picture(true, 600);
    EXPECT_EQ(flv_.starts, 2);
    const std::vector<int64_t> early = times_of_frames(flv_.configs);
    ASSERT_EQ(early.size(), 15U);
    EXPECT_EQ(early.front(), begin + 600);
    EXPECT_EQ(early.back(), begin + 880);
    EXPECT_TRUE(times_of_frames(webrtc_.configs).empty());
    // Whoever comes later is given the same.
    Sink late(Audience::kFlv);
    stream_.attach(late);
    EXPECT_EQ(times_of_frames(late.configs), early);
    stream_.detach(late);
    // A key frame within reach of them has its part, too.
    picture(true, 800);
    EXPECT_EQ(times_of_frames(flv_.configs).front(), begin + 800);
    EXPECT_EQ(stream_.kept_audio(Audience::kFlv).size(), 5U);
    EXPECT_EQ(stream_.kept_audio(Audience::kWebRtc).size(), 5U);
    picture(true, 1000);
    EXPECT_TRUE(times_of_frames(flv_.configs).empty());
}

TEST_F(AudienceTest, EarlySoundHasALimit) {
    picture(true, 0);
    const int64_t begin = flv_.packets.back()->time_ms();
    for (uint32_t time = 0; time < 3'000; time += 20) {
        derived(begin + time, test::aac_frame(time));
    }
    picture(true, 400);
    const std::vector<int64_t> early = times_of_frames(flv_.configs);
    ASSERT_FALSE(early.empty());
    EXPECT_EQ(early.back(), begin + 2980);
    EXPECT_EQ(early.front(), begin + 2980 - Stream::kMaxEarlyMs) << "the newest of it";
    for (int i = 0; i < 3; i++) {
        Bytes large = test::aac_frame(1);
        large.resize(Stream::kMaxEarlyBytes / 2);
        derived(begin + 3'000, std::move(large));
    }
    picture(true, 2'900);
    EXPECT_TRUE(times_of_frames(flv_.configs).empty());
}

TEST_F(AudienceTest, SoundThatIsMadeLateHasItsPlaceForThoseWhoComeLater) {
    picture(true, 0);
    const int64_t begin = flv_.packets.back()->time_ms();
    for (uint32_t time = 40; time < 400; time += 40) {
        picture(false, time);
    }
    for (uint32_t time = 0; time < 400; time += 20) {
        derived(begin + time, test::aac_frame(time));
    }
    Sink late(Audience::kFlv);
    stream_.attach(late);
    EXPECT_TRUE(std::ranges::is_sorted(
        late.packets, {}, [](const media::PacketRef& packet) { return packet->time_ms(); }));
    EXPECT_EQ(late.starts, 1);
    EXPECT_TRUE(late.packets.front()->info().key);
    EXPECT_EQ(late.count(media::Codec::kAac), 20U);
    stream_.detach(late);
}

// RTSP carries what was published; another node makes the AAC itself, for players of its own.
TEST_F(AudienceTest, RtspAndOtherNodesGetTheAudioAsItCameAndOneLayer) {
    Sink node(Audience::kOriginal);
    stream_.attach(node);
    picture(true, 0);
    const media::PacketRef opus_frame = sound(10);
    derived(10, test::aac_frame(1));
    Ref<media::MediaPacket> layer = test::packet(TrackKind::kVideo, 20, test::avc_frame(true, 20));
    media::PacketInfo info = layer->info();
    info.audience = Audience::kWebRtc;
    info.track_id = 1;
    const ByteSpan body = layer->body();
    stream_.publish_derived(
        publisher_, make_ref<media::MediaPacket>(info, 20, Bytes(body.begin(), body.end())), kNow);
    EXPECT_EQ(node.count(media::Codec::kOpus), 1U);
    EXPECT_EQ(node.count(media::Codec::kAac), 0U);
    EXPECT_EQ(node.count(media::Codec::kH264), 1U);
    EXPECT_EQ(webrtc_.count(media::Codec::kH264), 2U);
    stream_.detach(node);
    stream_.detach(flv_);
    stream_.detach(webrtc_);
    EXPECT_FALSE(stream_.has_audience(Audience::kWebRtc));
    stream_.attach(node);
    EXPECT_FALSE(stream_.has_audience(Audience::kWebRtc)) << "no layers are asked for";
    EXPECT_FALSE(stream_.has_audience(Audience::kFlv)) << "and no AAC is made";
    stream_.detach(node);
}

}  // namespace
}  // namespace weir::stream
