// A stream as plain RTP, as RTSP players over UDP get it, and what another server makes of it: the
// same frames, with the same times.
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "net/rtp/rtp_ingest.h"
#include "net/rtp/rtp_log_writer.h"

#include "test/support/rtp_media.h"

namespace weir::net {
namespace {

using media::Codec;
using media::TrackKind;
using test::Picture;

constexpr std::array<uint8_t, 2> kAacLc = {0x11, 0x90};  // 48,000 Hz, stereo
constexpr uint32_t kAacClockHz = 48'000;
constexpr uint8_t kFirstType = 96;

// Takes what a stream publishes.
class Recorder final : public stream::PacketSink {
  public:
    void on_packet(const media::PacketRef& packet, const stream::Configs*) override {
        const media::PacketInfo& info = packet->info();
        if (!info.metadata) {
            (info.config                      ? configs
             : info.kind == TrackKind::kVideo ? video
                                              : audio)
                .push_back(packet);
        }
    }

    void on_start_lost(stream::StartLost) override {}

    std::vector<media::PacketRef> configs;
    std::vector<media::PacketRef> video;
    std::vector<media::PacketRef> audio;
};

class RtpRoundTripTest : public testing::TestWithParam<size_t> {
  protected:
    RtpRoundTripTest() {
        profile_.max_payload_bytes = GetParam();
        writer_ = std::make_unique<RtpLogWriter>(profile_);
        from_.attach(*writer_);
        from_.attach(sent_);
        to_.attach(received_);
        source_ = std::make_unique<test::TestPublisher>(from_);
        target_ = std::make_unique<test::TestPublisher>(to_);
    }

    ~RtpRoundTripTest() override {
        source_.reset();
        target_.reset();
        from_.detach(*writer_);
        from_.detach(sent_);
        to_.detach(received_);
    }

    // All packets of the log, in the order of the log.
    void receive(RtpIngest& ingest) {
        std::array<uint16_t, 2> sequences{};
        const stream::RtpLog& log = writer_->log();
        MonoTime now = MonoClock::now();
        for (uint64_t number = log.oldest(); number < log.head(); number++) {
            const stream::RtpRun& run = *log.run(number);
            for (size_t i = 0; i < run.packets; i++) {
                const ByteSpan payload = run.packet(i);
                EXPECT_LE(payload.size(), profile_.max_payload_bytes);
                Bytes bytes(rtp::kFixedHeaderSize);
                rtp::write_header({static_cast<uint8_t>(kFirstType + run.track),
                                   run.marker && i + 1 == run.packets, sequences[run.track]++,
                                   run.rtp_time, 0x1000U + run.track},
                                  bytes.data());
                bytes.insert(bytes.end(), payload.begin(), payload.end());
                ingest.on_rtp(now, bytes, run.track);
            }
            now += Millis(5);
            ingest.handle_timeout(now);
        }
    }

    static void expect_same(const std::vector<media::PacketRef>& sent,
                            const std::vector<media::PacketRef>& received,
                            int64_t tolerance_ms) {
        ASSERT_EQ(received.size(), sent.size());
        const auto shown = [](const media::PacketRef& packet) {
            return packet->time_ms() + packet->info().composition_ms;
        };
        for (size_t i = 0; i < sent.size(); i++) {
            const ByteSpan a = sent[i]->payload();
            const ByteSpan b = received[i]->payload();
            EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << i;
            EXPECT_NEAR(static_cast<double>(shown(received[i]) - shown(received[0])),
                        static_cast<double>(shown(sent[i]) - shown(sent[0])),
                        static_cast<double>(tolerance_ms))
                << i;
            EXPECT_EQ(received[i]->info().key, sent[i]->info().key) << i;
            if (i > 0) {
                EXPECT_GT(received[i]->time_ms(), received[i - 1]->time_ms()) << i;
            }
        }
    }

    RtpProfile profile_;
    stream::Stream from_{{"v", "live", "from"}, {}, MonoClock::now()};
    stream::Stream to_{{"v", "live", "to"}, {}, MonoClock::now()};
    Recorder sent_;
    Recorder received_;
    std::unique_ptr<RtpLogWriter> writer_;
    std::unique_ptr<test::TestPublisher> source_;
    std::unique_ptr<test::TestPublisher> target_;
};

TEST_P(RtpRoundTripTest, KeepsFramesAndTimesOfAacAndVideoWithBFrames) {
    source_->config(test::kAvcHighConfig);
    source_->send(TrackKind::kAudio, test::tag_body(Codec::kAac, test::BodyKind::kConfig, kAacLc));
    // Presentation before decoding of I P b b P b b ..., 40 ms a frame.
    constexpr std::array<int32_t, 3> kComposition = {160, 40, 40};
    uint32_t sounds = 0;  // each has 1,024 samples
    for (uint32_t i = 0; i < 31; i++) {
        const Picture picture = i == 0       ? Picture::kKey
                                : i % 3 == 1 ? Picture::kReferenced
                                             : Picture::kB;
        source_->video(picture, i == 0 ? 20'000 : 2'000, i == 0 ? 80 : kComposition[(i + 2) % 3]);
        uint32_t at_ms = 40 * i;
        for (; sounds * 1'024 / 48 < 40 * (i + 1); sounds++) {
            const uint32_t due_ms = sounds * 1'024 / 48;
            source_->pass(due_ms - std::exchange(at_ms, due_ms));
            const size_t size = i == 5 ? 4'000 : sounds % 2 == 0 ? 300 : 40;
            source_->send(TrackKind::kAudio, test::tag_body(Codec::kAac, test::BodyKind::kFrame,
                                                            test::counted({0x21}, size, i)));
        }
        source_->pass(40 * (i + 1) - at_ms);
    }
    EXPECT_EQ(writer_->track(kRtpAudioTrack).clock_hz, kAacClockHz);
    EXPECT_TRUE(std::ranges::equal(writer_->config(kRtpAudioTrack), kAacLc));
    EXPECT_EQ(writer_->skipped_frames(), 0U);

    std::vector<RtpIngestTrack> tracks(2);
    tracks[kRtpAudioTrack].kind = TrackKind::kAudio;
    tracks[kRtpAudioTrack].codec = Codec::kAac;
    tracks[kRtpAudioTrack].clock_hz = kAacClockHz;
    tracks[kRtpAudioTrack].config.assign(kAacLc.begin(), kAacLc.end());
    tracks[kRtpVideoTrack].kind = TrackKind::kVideo;
    tracks[kRtpVideoTrack].codec = Codec::kH264;
    tracks[kRtpVideoTrack].clock_hz = 90'000;
    for (uint8_t i = 0; i < 2; i++) {
        tracks[i].payload_type = static_cast<uint8_t>(kFirstType + i);
    }
    RtpIngestOptions options;
    options.b_frames = true;
    RtpIngest ingest(to_, *target_, tracks, options);
    receive(ingest);

    expect_same(sent_.video, received_.video, 1);
    // The first frames of audio came before there was a place to begin, and are not in the log.
    ASSERT_FALSE(received_.audio.empty());
    ASSERT_LE(received_.audio.size(), sent_.audio.size());
    const std::vector<media::PacketRef> audio(
        sent_.audio.end() - static_cast<std::ptrdiff_t>(received_.audio.size()), sent_.audio.end());
    EXPECT_GE(audio.size() + 2, sent_.audio.size());
    expect_same(audio, received_.audio, 1);
    ASSERT_EQ(received_.configs.size(), 2U);
    for (const media::PacketRef& config : received_.configs) {
        const ByteSpan expected = config->info().kind == TrackKind::kVideo
                                      ? ByteSpan(test::kAvcHighConfig)
                                      : ByteSpan(kAacLc);
        EXPECT_TRUE(std::ranges::equal(config->payload(), expected));
    }
}

INSTANTIATE_TEST_SUITE_P(SizesOfUdpPackets, RtpRoundTripTest, testing::Values(1188, 1400, 1448));

}  // namespace
}  // namespace weir::net
