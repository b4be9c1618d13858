// Sound between WebRTC and the others, on a worker thread.
#include "net/rtp/audio_bridge.h"

#include <atomic>

#include <unistd.h>

#include <gtest/gtest.h>

#include "session/webrtc/rtc_ingest.h"
#include "session/webrtc/rtc_log_writer.h"

#include "test/session/muxer_fixture.h"
#include "test/session/webrtc/rtc_world.h"

namespace weir::session {
namespace {

using media::Codec;
using media::TrackKind;

// The camera of chromium-whip.sdp.
constexpr uint32_t kCameraSsrc = 2374988436;
constexpr uint8_t kCameraType = 102;

// 20 ms of G.711: a saw tooth.
Bytes g711_body() {
    Bytes body = {0x82};
    for (int i = 0; i < 160; i++) {
        body.push_back(static_cast<uint8_t>(0x80 | (i * 3 & 0x7F)));
    }
    return body;
}

class AudioBridgeTest : public testing::Test {
  protected:
    AudioBridgeTest() {
        auto pool = io::WorkerPool::create(1, 16);
        WEIR_CHECK(pool.ok());
        workers_ = std::move(*pool);
        lines().clear();
        log::set_sink([](log::Level, std::string_view line) { lines().emplace_back(line); });
    }

    ~AudioBridgeTest() override { log::set_sink(nullptr); }

    static std::vector<std::string>& lines() {
        static std::vector<std::string> instance;
        return instance;
    }

    static media::PacketRef sound(int64_t time_ms) {
        const Bytes body = g711_body();
        const auto info = flv::parse_tag_body(TrackKind::kAudio, body);
        return make_ref<media::MediaPacket>(*info, time_ms, body);
    }

    static transcode::AudioOptions options(Codec from = Codec::kG711U, Codec to = Codec::kAac) {
        transcode::AudioOptions options;
        options.from = from;
        options.to = to;
        return options;
    }

    std::unique_ptr<io::WorkerPool> workers_;
};

TEST_F(AudioBridgeTest, FramesComeOutInOrderOnTheMediaThread) {
    std::vector<int64_t> times;
    net::AudioBridge bridge(*workers_, options(), "s", [&](ByteSpan frame, int64_t time_us) {
        EXPECT_FALSE(frame.empty());
        times.push_back(time_us);
    });
    for (int i = 0; i < 200; i++) {
        bridge.push(sound(1000 + i * 20));
    }
    EXPECT_TRUE(times.empty());  // nothing is done here and now
    ASSERT_TRUE(io::eventually([&] { return times.size() > 180; }));
    EXPECT_TRUE(std::ranges::is_sorted(times));
    EXPECT_NEAR(static_cast<double>(times.front()), 1'000'000, 60'000);
    EXPECT_EQ(bridge.dropped(), 0U);
}

TEST_F(AudioBridgeTest, MoreThanAWorkerCanDoIsDroppedAndCounted) {
    size_t came = 0;
    net::AudioBridge bridge(*workers_, options(), "s", [&](ByteSpan, int64_t) { came++; });
    const size_t pushed = net::AudioBridge::kMaxQueued + 200;
    for (size_t i = 0; i < pushed; i++) {
        bridge.push(sound(static_cast<int64_t>(i) * 20));
    }
    EXPECT_GT(bridge.dropped(), 100U);
    EXPECT_LE(bridge.dropped(), 200U);
    EXPECT_TRUE(io::eventually([&] { return came > 900; }));
}

// The worker is at it, or has done it and nobody has fetched it.
TEST_F(AudioBridgeTest, MayGoAtAnyMoment) {
    for (int i = 0; i < 30; i++) {
        auto bridge = std::make_unique<net::AudioBridge>(
            *workers_, options(), "s", [](ByteSpan, int64_t) { FAIL() << "is gone"; });
        for (int k = 0; k < 40; k++) {
            bridge->push(sound(k * 20));
        }
        if (i % 2 == 0) {
            // Without the reactor: what is done waits.
            const MonoTime until = MonoClock::now() + Millis(i % 10);
            while (MonoClock::now() < until) {
            }
        }
        bridge.reset();
        EXPECT_FALSE(io::sleep_for(Millis(1)));
    }
    EXPECT_EQ(live_objects("audio_bridge"), 0U);
    EXPECT_TRUE(io::eventually([] { return live_objects("worker_job") == 0; }));
}

TEST_F(AudioBridgeTest, SaysOnceWhyThereIsNoSound) {
    net::AudioBridge bridge(*workers_, options(Codec::kH264), "live/s", [](ByteSpan, int64_t) {});
    for (int i = 0; i < 100; i++) {
        bridge.push(sound(i * 20));
        EXPECT_FALSE(io::sleep_for(Millis(0)));
    }
    EXPECT_TRUE(io::eventually([] { return live_objects("worker_job") == 0; }));
    EXPECT_EQ(std::ranges::count_if(lines(),
                                    [](const std::string& line) {
                                        return line.find("no audio in another codec") !=
                                               std::string::npos;
                                    }),
              1);
}

// ---- in the stream ----

// AAC that is published is Opus for players of WebRTC.
TEST_F(AudioBridgeTest, MuxerMakesOpusOfAac) {
    std::vector<media::PacketRef> aac;
    Bytes config;
    {
        auto made = transcode::AudioTranscoder::create(options());
        ASSERT_TRUE(made.ok()) << made.error().to_string();
        config = (*made)->output_config();
        for (int i = 0; i < 100; i++) {
            Error error = (*made)->transcode(
                sound(0)->payload(), i * 20'000, [&](ByteSpan frame, int64_t time_us) {
                    Bytes body = tag_body(Codec::kAac, BodyKind::kFrame, frame);
                    const auto info = flv::parse_tag_body(TrackKind::kAudio, body);
                    aac.push_back(make_ref<media::MediaPacket>(
                        *info, std::max<int64_t>(time_us / 1000, 0), std::move(body)));
                });
            ASSERT_FALSE(error) << error.to_string();
        }
    }
    RtcLogWriter muxer(workers_.get(), 64'000, "s");
    const Bytes header = tag_body(Codec::kAac, BodyKind::kConfig, config);
    const auto info = flv::parse_tag_body(TrackKind::kAudio, header);
    muxer.on_packet(make_ref<media::MediaPacket>(*info, 0, header), nullptr);
    EXPECT_EQ(muxer.track(kRtpAudioTrack).codec.codec, Codec::kOpus);
    const stream::Configs none;
    for (const media::PacketRef& packet : aac) {
        muxer.on_packet(packet, &none);
    }
    ASSERT_TRUE(io::eventually([&] { return muxer.log().packets(kRtpAudioTrack) > 90; }));
    const stream::RtpLog& log = muxer.log();
    EXPECT_TRUE(log.has_start());
    for (uint64_t i = log.oldest() + 1; i < log.head(); i++) {
        const stream::RtpRun& run = *log.run(i);
        EXPECT_EQ(run.packets, 1);
        EXPECT_NEAR(static_cast<double>(run.rtp_time - log.run(i - 1)->rtp_time), 960, 2);
    }
}

// And Opus that is published is AAC for all others, while there are others.
class BridgedWorld : public RtcWorld {
  protected:
    // From G.711.
    static std::vector<Bytes> opus_frames(int count) {
        transcode::AudioOptions options;
        options.from = Codec::kG711U;
        options.to = Codec::kOpus;
        auto made = transcode::AudioTranscoder::create(options);
        WEIR_CHECK(made.ok());
        std::vector<Bytes> opus;
        const Bytes g711 = g711_body();
        for (int i = 0; i < count; i++) {
            Error error = (*made)->transcode(
                ByteSpan(g711).subspan(1), i * 20'000,
                [&](ByteSpan frame, int64_t) { opus.emplace_back(frame.begin(), frame.end()); });
            WEIR_CHECK(!error);
        }
        return opus;
    }
};

TEST_F(BridgedWorld, OpusOfABrowserIsAacForOthersWhileThereAreOthers) {
    const std::vector<Bytes> opus = opus_frames(200);
    start_rtc();
    auto peer = publishing_peer();
    ASSERT_NE(peer, nullptr);
    RtpSource microphone(Codec::kOpus, 111, 2111609516, 5);
    uint32_t time = 0;
    size_t next = 0;
    const auto talk = [&](size_t count) {
        for (size_t i = 0; i < count; i++, time += 960) {
            const uint64_t index = microphone.next();
            peer->send_rtp(microphone.packet(opus[next++ % opus.size()], time, i == 0), index);
            EXPECT_FALSE(io::sleep_for(Millis(0)));
        }
    };
    talk(20);
    EXPECT_EQ(live_objects("audio_bridge"), 0U);  // nobody needs it
    Recorder recorder;
    stream().attach(recorder);
    const auto is_aac = [](const media::PacketRef& packet) {
        return packet->info().codec == Codec::kAac && !packet->info().config;
    };
    EXPECT_TRUE(io::eventually([&] {
        talk(10);
        return std::ranges::count_if(recorder.packets, is_aac) > 20;
    }));
    EXPECT_EQ(live_objects("audio_bridge"), 1U);
    int64_t last = -1;
    for (const media::PacketRef& packet : recorder.packets) {
        EXPECT_NE(packet->info().codec, Codec::kOpus);
        if (is_aac(packet)) {
            EXPECT_GT(packet->time_ms(), last);
            last = packet->time_ms();
        }
    }
    stream().detach(recorder);
    EXPECT_TRUE(io::eventually([&] {
        talk(5);
        return live_objects("audio_bridge") == 0;
    }));
    // The session ends while a worker is at it.
    stream().attach(recorder);
    talk(40);
    const std::string id = id_;
    rtc_->find(id)->end(net::EndClass::kKicked, "the test");
    stream().detach(recorder);
    registry_.release(stream());
    EXPECT_TRUE(is_gone(id));
    EXPECT_TRUE(io::eventually([] { return live_objects("worker_job") == 0; }));
}

// A publisher with a key frame now and then, a picture each 40 ms and audio each 20 ms.
class FilmedWorld : public BridgedWorld {
  protected:
    ~FilmedWorld() override { registry_.release(stream()); }

    void begin(uint32_t gop_ms) {
        gop_ms_ = gop_ms;
        opus_ = opus_frames(100);
        start_rtc();
        peer_ = publishing_peer();
        ASSERT_NE(peer_, nullptr);
        camera_.set_config(test::kAvcBaselineConfig);
    }

    // Returns when all of it has been published.
    void film(uint32_t until_ms, bool mute = false) {
        for (; ms_ < until_ms; ms_ += 20) {
            if (ms_ % 40 == 0) {
                take_picture();
            }
            if (!mute) {
                const uint64_t index = microphone_.next();
                peer_->send_rtp(microphone_.packet(opus_[ms_ / 20], ms_ * 48, sent_++ == 0), index);
            }
            EXPECT_FALSE(io::sleep_for(Millis(0)));
        }
        EXPECT_TRUE(io::eventually([&] {
            peer_->poll();
            return stream().audio().frames >= sent_ && stream().video().frames >= pictures_;
        }));
    }

    // Times of the AAC.
    static std::vector<int64_t> sounds(const Recorder& recorder) {
        std::vector<int64_t> times;
        for (const media::PacketRef& packet : recorder.packets) {
            if (packet->info().codec == Codec::kAac && !packet->info().config) {
                times.push_back(packet->time_ms());
            }
        }
        return times;
    }

    // From the key frame on.
    static void expect_sound_from_its_beginning(const Recorder& recorder) {
        const std::vector<int64_t> times = sounds(recorder);
        EXPECT_TRUE(recorder.packets.front()->info().key);
        const int64_t begin = recorder.packets.front()->time_ms();
        EXPECT_NEAR(static_cast<double>((times.empty() ? 0 : times.front()) - begin), 0, 60);
    }

  private:
    void take_picture() {
        const auto kind = ms_ % gop_ms_ == 0 ? Picture::kKey : Picture::kReferenced;
        const Bytes picture = test::nal_frame({h264_nal(kind, ms_, 500)});
        uint64_t index = camera_.next();
        for (const Bytes& packet : camera_.packets(picture, ms_ * 90)) {
            peer_->send_rtp(packet, index++);
        }
        pictures_++;
    }

    std::vector<Bytes> opus_;
    std::unique_ptr<RtcPeer> peer_;
    RtpSource microphone_{Codec::kOpus, 111, 2111609516, 5};
    RtpSource camera_{Codec::kH264, kCameraType, kCameraSsrc, 1000};
    uint32_t gop_ms_ = 0;
    uint32_t ms_ = 0;
    uint64_t sent_ = 0;
    uint64_t pictures_ = 0;
};

// AAC is made while somebody needs it, and all of what a player starts with is needed: the first
// one comes in the middle of a GOP, and so does the next, which begins where the first did. The
// worker is busy at that time.
TEST_F(FilmedWorld, TheFirstPlayersHaveSoundFromTheirKeyFrameOn) {
    ASSERT_NO_FATAL_FAILURE(begin(10'000));
    film(800);
    std::atomic<bool> busy{true};
    for (int i = 0; i < 4; i++) {
        ASSERT_FALSE(workers_->submit(
            [&busy] {
                while (busy) {
                    usleep(1'000);
                }
            },
            nullptr));
    }
    Recorder first;
    stream().attach(first);
    film(1'200);
    Recorder second;
    stream().attach(second);
    film(1'400);
    busy = false;
    for (Recorder* recorder : {&first, &second}) {
        EXPECT_TRUE(io::eventually([&] { return sounds(*recorder).size() > 55; }));
        expect_sound_from_its_beginning(*recorder);
        const std::vector<int64_t> times = sounds(*recorder);
        for (size_t i = 1; i < times.size(); i++) {
            EXPECT_NEAR(static_cast<double>(times[i] - times[i - 1]), 21, 3) << i;
        }
        stream().detach(*recorder);
    }
}

// What was sent in bunches, as by a multiplexer: no audio comes between the player and the next key
// frame, when what it has begun with is kept no longer.
TEST_F(FilmedWorld, APlayerHasTheSoundOfItsGopAlthoughTheNextAudioComesBehindTheNextKeyFrame) {
    ASSERT_NO_FATAL_FAILURE(begin(1'000));
    film(800);
    Recorder player;
    stream().attach(player);
    film(1'040, true);
    ASSERT_TRUE(player.packets.size() > 1 && player.start_index > 0) << "a second GOP has begun";
    film(1'400);
    EXPECT_TRUE(io::eventually([&] { return sounds(player).size() > 48; }));
    expect_sound_from_its_beginning(player);
    stream().detach(player);
}

}  // namespace
}  // namespace weir::session
