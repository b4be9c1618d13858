// Plain RTP of a camera, in memory: what comes into the stream.
#include "net/rtp/rtp_ingest.h"

#include <array>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "media/opus.h"
#include "proto/flv/metadata.h"

#include "test/support/rtp_media.h"
#include "test/support/transport_stream.h"

namespace weir::net {
namespace {

using media::TrackKind;
using test::Picture;

constexpr uint32_t kVideoSsrc = 0x1111;
constexpr uint32_t kAudioSsrc = 0x2222;
constexpr uint8_t kType = 96;
constexpr uint32_t kFrame = 3'600;  // of RTP time, 40 ms

class RtpIngestTest : public testing::Test, public stream::Publisher, stream::PacketSink {
  protected:
    RtpIngestTest() {
        stream_.attach(*this);
        Error error = stream_.start_publish(*this, stream::PublishConflict::kRefuse, now_);
        EXPECT_FALSE(error);
        tracks_.resize(2);
        tracks_[0].kind = TrackKind::kVideo;
        tracks_[0].codec = media::Codec::kH264;
        tracks_[0].payload_type = kType;
        tracks_[0].clock_hz = 90'000;
        tracks_[1].kind = TrackKind::kAudio;
        tracks_[1].codec = media::Codec::kOpus;
        tracks_[1].payload_type = kType + 1;
        tracks_[1].clock_hz = 48'000;
    }

    ~RtpIngestTest() override {
        ingest_.reset();
        stream_.end_publish(*this, now_);
        stream_.detach(*this);
    }

    std::string describe() const override { return "the test"; }

    std::string_view client_id() const override { return "test"; }

    void on_taken_over() override {}

    void on_packet(const media::PacketRef& packet, const stream::Configs*) override {
        (packet->info().kind == TrackKind::kData    ? data_
         : packet->info().config                    ? configs_
         : packet->info().kind == TrackKind::kVideo ? video_
                                                    : audio_)
            .push_back(packet);
    }

    void on_start_lost(stream::StartLost) override {}

    void start(const RtpIngestOptions& options = {}) {
        ingest_ = std::make_unique<RtpIngest>(stream_, *this, tracks_, options);
    }

    // Sends a frame that is shown `shown` frames after the first; all packets but those in `lost`.
    void send(Picture picture,
              uint32_t shown,
              std::optional<size_t> lost = {},
              std::optional<size_t> track = {}) {
        frames_.push_back(test::nal_frame(
            {test::h264_nal(picture, static_cast<uint32_t>(frames_.size()), 3'000)}));
        size_t index = 0;
        for (const Bytes& packet : camera_.packets(frames_.back(), 5'000 + shown * kFrame)) {
            if (lost != index++) {
                ingest_->on_rtp(now_, packet, track);
            }
        }
        pass(Millis(40));
    }

    // A sender report, by itself.
    void report(uint32_t ssrc,
                rtcp::NtpTime ntp_time,
                uint32_t rtp_time,
                std::optional<size_t> track = {}) {
        std::array<uint8_t, 64> room;
        rtcp::CompoundWriter writer(room);
        rtcp::SenderInfo info;
        info.ssrc = ssrc;
        info.ntp_time = ntp_time;
        info.rtp_time = rtp_time;
        EXPECT_TRUE(writer.sender_report(info, {}));
        rtcp::PacketView packet;
        rtcp::CompoundReader reader(ByteSpan(room).first(writer.size()));
        EXPECT_TRUE(reader.next(packet));
        ingest_->on_rtcp(now_, packet, track);
    }

    void pass(Millis time) {
        now_ += time;
        ingest_->handle_timeout(now_);
    }

    std::optional<int64_t> wall_offset_us() const {
        return stream_.publisher_clock().wall_offset_us(stream_.timeline());
    }

    static Bytes payload(const media::PacketRef& packet) {
        return Bytes(packet->payload().begin(), packet->payload().end());
    }

    std::vector<RtpIngestTrack> tracks_;
    MonoTime now_{Seconds(5'000)};
    stream::Stream stream_{{"v", "live", "a"}, {.publisher_clock = true}, now_};
    std::unique_ptr<RtpIngest> ingest_;
    test::RtpSource camera_{media::Codec::kH264, kType, kVideoSsrc};
    std::vector<Bytes> frames_;
    std::vector<media::PacketRef> configs_;
    std::vector<media::PacketRef> video_;
    std::vector<media::PacketRef> audio_;
    std::vector<media::PacketRef> data_;
};

// I P b b P b b: the second frame is shown after the two that follow it.
constexpr std::array<uint32_t, 13> kShown = {0, 3, 1, 2, 6, 4, 5, 9, 7, 8, 12, 10, 11};

Picture picture_of(size_t index) {
    return index == 0 ? Picture::kKey : index % 3 == 1 ? Picture::kReferenced : Picture::kB;
}

TEST_F(RtpIngestTest, BFramesGetTimesOfDecoding) {
    RtpIngestOptions options;
    options.b_frames = true;
    camera_.set_config(test::kAvcHighConfig);  // says that two frames may come before their turn
    start(options);
    for (size_t i = 0; i < kShown.size(); i++) {
        send(picture_of(i), kShown[i]);
    }
    ASSERT_EQ(video_.size(), kShown.size());
    for (size_t i = 0; i < video_.size(); i++) {
        SCOPED_TRACE(i);
        const media::MediaPacket& packet = *video_[i];
        const media::MediaPacket& first = *video_[0];
        EXPECT_EQ(payload(video_[i]), frames_[i]);
        EXPECT_GE(packet.info().composition_ms, 0);
        EXPECT_EQ(packet.time_ms() + packet.info().composition_ms,
                  first.time_ms() + first.info().composition_ms + kShown[i] * 40);
        if (i > 0) {
            EXPECT_GT(packet.time_ms(), video_[i - 1]->time_ms());
        }
        if (i > 2) {
            EXPECT_EQ(packet.time_ms() - video_[i - 1]->time_ms(), 40);
        }
    }
    EXPECT_TRUE(stream_.frame_order().reordered());
}

TEST_F(RtpIngestTest, ADepthThatNobodyNamedIsLearnt) {
    RtpIngestOptions options;
    options.b_frames = true;
    camera_.set_config(test::kAvcBaselineConfig);
    start(options);
    for (size_t i = 0; i < kShown.size(); i++) {
        send(picture_of(i), kShown[i]);
    }
    ASSERT_EQ(video_.size(), kShown.size());
    for (size_t i = 1; i < video_.size(); i++) {
        EXPECT_GE(video_[i]->time_ms(), video_[i - 1]->time_ms()) << i;
        if (i > 5) {
            EXPECT_GE(video_[i]->info().composition_ms, 0) << i;
            EXPECT_EQ(video_[i]->time_ms() - video_[i - 1]->time_ms(), 40) << i;
        }
    }
}

TEST_F(RtpIngestTest, WithoutBFramesTimesAreThoseOfThePackets) {
    camera_.set_config(test::kAvcHighConfig);
    start();
    for (uint32_t i = 0; i < 10; i++) {
        send(i == 0 ? Picture::kKey : Picture::kReferenced, i);
    }
    ASSERT_EQ(video_.size(), 10U);
    for (size_t i = 0; i < video_.size(); i++) {
        EXPECT_EQ(video_[i]->info().composition_ms, 0);
        EXPECT_EQ(video_[i]->time_ms(), video_[0]->time_ms() + static_cast<int64_t>(i) * 40);
    }
}

TEST_F(RtpIngestTest, TimesOfVideoRiseAlsoWithinAMillisecond) {
    camera_.set_config(test::kAvcBaselineConfig);
    start();
    uint32_t time = 5'000;
    for (const uint32_t step : {0U, kFrame, 1U, 44U, kFrame}) {
        time += step;
        const bool first = frames_.empty();
        frames_.push_back(
            test::nal_frame({test::h264_nal(first ? Picture::kKey : Picture::kReferenced,
                                            static_cast<uint32_t>(frames_.size()), 300)}));
        for (const Bytes& packet : camera_.packets(frames_.back(), time)) {
            ingest_->on_rtp(now_, packet);
        }
        pass(Millis(step / 90));
    }
    ASSERT_EQ(video_.size(), 5U);
    std::vector<int64_t> times;
    for (const media::PacketRef& packet : video_) {
        times.push_back(packet->time_ms() - video_[0]->time_ms());
        EXPECT_EQ(packet->info().composition_ms, 0);
    }
    EXPECT_EQ(times, (std::vector<int64_t>{0, 40, 41, 42, 80}));
}

TEST_F(RtpIngestTest, FramesOfAClockThatNeverRunsHaveTheTimesOfTheirArrival) {
    RtpIngestOptions options;
    options.b_frames = true;
    camera_.set_config(test::kAvcHighConfig);
    start(options);
    for (size_t i = 0; i < 100; i++) {
        send(i % 25 == 0 ? Picture::kKey : Picture::kReferenced, 0);
    }
    ASSERT_EQ(video_.size(), 100U);
    for (size_t i = 1; i < video_.size(); i++) {
        SCOPED_TRACE(i);
        EXPECT_GE(video_[i]->time_ms(), video_[i - 1]->time_ms());
        if (i > 15) {
            EXPECT_EQ(video_[i]->time_ms() - video_[i - 1]->time_ms(), 40);
            EXPECT_EQ(video_[i]->info().composition_ms, 0);
        }
    }
    // It runs after all.
    const int64_t before = video_.back()->time_ms();
    for (uint32_t i = 0; i < 20; i++) {
        send(i == 0 ? Picture::kKey : Picture::kReferenced, 1'000 + i);
    }
    ASSERT_EQ(video_.size(), 120U);
    EXPECT_GT(video_[100]->time_ms(), before);
    EXPECT_LT(video_[100]->time_ms(), before + 200);
    EXPECT_EQ(video_[119]->time_ms() - video_[118]->time_ms(), 40);
}

TEST_F(RtpIngestTest, ALossIsNotPublishedAndTheNextKeyFrameIs) {
    camera_.set_config(test::kAvcBaselineConfig);
    start();
    send(Picture::kKey, 0);
    send(Picture::kReferenced, 1, 1);
    send(Picture::kReferenced, 2);
    pass(Millis(900));
    send(Picture::kReferenced, 30);
    EXPECT_EQ(video_.size(), 1U);
    EXPECT_GT(ingest_->stats().dropped_frames, 0U);
    send(Picture::kKey, 31);
    send(Picture::kReferenced, 32);
    ASSERT_EQ(video_.size(), 3U);
    EXPECT_EQ(payload(video_[1]), frames_[frames_.size() - 2]);
    EXPECT_TRUE(video_[1]->info().key);
}

// A camera that names its parameter sets in the description only.
TEST_F(RtpIngestTest, ParameterSetsOfTheDescriptionMakeTheConfiguration) {
    tracks_[0].parameter_sets = {test::kAvcBaselineSps, test::kAvcBaselinePps};
    start();
    send(Picture::kKey, 0);
    ASSERT_EQ(configs_.size(), 1U);
    EXPECT_EQ(payload(configs_[0]), test::kAvcBaselineConfig);
    EXPECT_EQ(video_.size(), 1U);
    EXPECT_EQ(stream_.description().width, 322U);
}

// Cameras give each track a socket of its own, and may use one payload type for all.
TEST_F(RtpIngestTest, ATrackIsToldByWhereItsPacketsCame) {
    tracks_[1].payload_type = kType;
    camera_.set_config(test::kAvcBaselineConfig);
    start();
    test::RtpSource microphone(media::Codec::kOpus, kType, kAudioSsrc);
    send(Picture::kKey, 0, {}, 0);
    const Bytes sample = test::counted({0xFC}, 60, 1);
    for (const Bytes& packet : microphone.packets(sample, 9'000)) {
        ingest_->on_rtp(now_, packet, 1);
    }
    EXPECT_EQ(video_.size(), 1U);
    ASSERT_EQ(audio_.size(), 1U);
    EXPECT_EQ(payload(audio_[0]), sample);
    ASSERT_EQ(configs_.size(), 2U);
    EXPECT_EQ(payload(configs_[1]), media::opus::build_head(2));
    EXPECT_EQ(audio_[0]->info().audience, media::Audience::kEverybody);
}

class RtpAudioTracksTest : public RtpIngestTest {
  protected:
    // A video and three audio tracks, whose packets have the same type and SSRC.
    RtpAudioTracksTest() {
        for (const uint8_t number : {uint8_t{1}, uint8_t{2}}) {
            tracks_.push_back(tracks_[1]);
            tracks_.back().number = number;
        }
        start();
    }

    void sound(size_t track, uint8_t marker) {
        rtp::Header fields;
        fields.payload_type = kType + 1;
        fields.ssrc = kAudioSsrc;
        fields.sequence = next_[track]++;
        fields.timestamp = fields.sequence * 960U;
        std::array<uint8_t, rtp::kFixedHeaderSize + 3> packet{};
        rtp::write_header(fields, packet.data());
        packet[rtp::kFixedHeaderSize] = 0xFC;
        packet[rtp::kFixedHeaderSize + 1] = marker;
        ingest_->on_rtp(now_, packet, track);
    }

    std::vector<int> numbers(const std::vector<media::PacketRef>& packets) const {
        std::vector<int> out;
        for (const media::PacketRef& packet : packets) {
            out.push_back(packet->info().track_id);
        }
        return out;
    }

    std::map<size_t, uint16_t> next_;
};

TEST_F(RtpAudioTracksTest, EachTrackHasItsNumber) {
    for (uint8_t i = 0; i < 3; i++) {
        for (const size_t track : {size_t{1}, size_t{2}, size_t{3}}) {
            sound(track, static_cast<uint8_t>(16 * track + i));
        }
        pass(Millis(20));
    }
    EXPECT_EQ(numbers(configs_), (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(numbers(audio_), (std::vector<int>{0, 1, 2, 0, 1, 2, 0, 1, 2}));
    for (const media::PacketRef& packet : audio_) {
        EXPECT_EQ(packet->payload()[1] >> 4, packet->info().track_id + 1);
    }
}

TEST_F(RtpAudioTracksTest, OtherNodesAreToldTheirLanguages) {
    media::Description said;
    said.audio_tracks = {{0, "en", {}}, {1, "fr", "Salle"}, {2, {}, {}}};
    stream_.describe(*this, said);
    for (const size_t track : {size_t{1}, size_t{2}, size_t{3}, size_t{1}}) {
        sound(track, 1);
    }
    ASSERT_EQ(data_.size(), 1U);
    EXPECT_EQ(flv::parse_metadata(data_[0]->body()).audio_tracks, said.audio_tracks);
}

TEST_F(RtpAudioTracksTest, TheDefaultTrackBeginsFirst) {
    sound(3, 1);
    sound(2, 1);
    EXPECT_TRUE(audio_.empty());
    pass(Millis(20));
    sound(1, 1);
    sound(2, 2);
    EXPECT_EQ(numbers(audio_), (std::vector<int>{0, 1}));
    EXPECT_EQ(stream_.default_audio(), 0);
}

TEST_F(RtpAudioTracksTest, ADefaultTrackThatNeverComesIsAwaitedForTwoSeconds) {
    for (int i = 0; i < 150; i++) {
        sound(2, 1);
        pass(Millis(20));
    }
    EXPECT_EQ(stream_.default_audio(), 1);
    EXPECT_EQ(audio_.size(), 50U);
}

TEST_F(RtpIngestTest, ASourceThatStartsAnewGoesOn) {
    RtpIngestOptions options;
    options.b_frames = true;
    camera_.set_config(test::kAvcHighConfig);
    start(options);
    for (size_t i = 0; i < kShown.size(); i++) {
        send(picture_of(i), kShown[i]);
    }
    camera_ = test::RtpSource(media::Codec::kH264, kType, kVideoSsrc + 1, 7);
    camera_.set_config(test::kAvcHighConfig);
    for (size_t i = 0; i < kShown.size(); i++) {
        send(picture_of(i), kShown[i]);
    }
    ASSERT_EQ(video_.size(), 2 * kShown.size());
    for (size_t i = 1; i < video_.size(); i++) {
        EXPECT_GE(video_[i]->time_ms(), video_[i - 1]->time_ms()) << i;
        EXPECT_GE(video_[i]->info().composition_ms, 0) << i;
    }
    EXPECT_EQ(ingest_->stats().dropped_frames, 0U);
}

// Times that nobody can mean: packets keep times that every format can carry.
TEST_F(RtpIngestTest, WildTimesOfBFramesStayInBounds) {
    RtpIngestOptions options;
    options.b_frames = true;
    camera_.set_config(test::kAvcBaselineConfig);
    start(options);
    uint32_t random = 1;
    for (int i = 0; i < 3'000; i++) {
        random = random * 1664525 + 1013904223;
        const Bytes frame = test::nal_frame(
            {test::h264_nal(i % 10 == 0 ? Picture::kKey : Picture::kReferenced, random, 200)});
        const uint32_t time = i % 3 == 0 ? random : random % 900'000;
        for (const Bytes& packet : camera_.packets(frame, time)) {
            ingest_->on_rtp(now_, packet);
        }
        pass(Millis(40));
    }
    ASSERT_EQ(video_.size(), 3'000U);
    for (size_t i = 1; i < video_.size(); i++) {
        EXPECT_LE(std::abs(video_[i]->info().composition_ms), 6'000) << i;
        EXPECT_GE(video_[i]->time_ms(), video_[i - 1]->time_ms()) << i;
    }
}

TEST_F(RtpIngestTest, ManySourcesAreBounded) {
    camera_.set_config(test::kAvcBaselineConfig);
    start();
    for (uint32_t ssrc = 1; ssrc < 1'000; ssrc++) {
        test::RtpSource stranger(media::Codec::kH264, 50, ssrc);
        ingest_->on_rtp(now_, stranger.packet(test::counted({0x41}, 100), 0, true));
    }
    EXPECT_EQ(ingest_->stats().unknown_packets, 999U);
    for (uint32_t ssrc = 1; ssrc < 1'000; ssrc++) {
        test::RtpSource stranger(media::Codec::kH264, kType, ssrc);
        ingest_->on_rtp(now_, stranger.packet(test::counted({0x41}, 100), 0, true));
    }
    EXPECT_LE(ingest_->heap_bytes(), 8U << 10U);
}

TEST_F(RtpIngestTest, ReceptionIsReported) {
    camera_.set_config(test::kAvcBaselineConfig);
    start();
    std::array<uint8_t, 1200> out;
    EXPECT_EQ(ingest_->poll_transmit(now_, out), 0U);
    send(Picture::kKey, 0);
    pass(Millis(300));
    EXPECT_LE(*ingest_->next_timeout(), now_);
    const size_t size = ingest_->poll_transmit(now_, out);
    ASSERT_GT(size, 0U);
    rtcp::PacketView packet;
    rtcp::CompoundReader reader(ByteSpan(out).first(size));
    ASSERT_TRUE(reader.next(packet));
    const auto report = rtcp::parse_receiver_report(packet);
    ASSERT_TRUE(report.has_value());
    ASSERT_EQ(report->blocks.size(), 1U);
    EXPECT_EQ(report->blocks[0].ssrc, kVideoSsrc);
    EXPECT_EQ(ingest_->poll_transmit(now_, out), 0U);
    EXPECT_GT(*ingest_->next_timeout(), now_);
}

// ffmpeg reports before the first packet of a track, and sends the video of a moment long before
// its audio.
TEST_F(RtpIngestTest, ReportsBeforeTheFirstPacketPutAudioAndVideoInStep) {
    camera_.set_config(test::kAvcBaselineConfig);
    start();
    test::RtpSource microphone(media::Codec::kOpus, kType + 1, kAudioSsrc);
    const rtcp::NtpTime moment = rtcp::ntp_from_unix_us(1'800'000'000'000'000);
    for (const auto& [ssrc, rtp_time] : {std::pair(kVideoSsrc, 5'000U), {kAudioSsrc, 9'000U}}) {
        report(ssrc, moment, rtp_time);
    }
    send(Picture::kKey, 0);
    pass(Millis(300));
    for (const uint32_t rtp_time : {8'040U, 9'000U, 9'960U}) {
        for (const Bytes& packet : microphone.packets(test::counted({0xFC}, 60, 1), rtp_time)) {
            ingest_->on_rtp(now_, packet);
        }
    }
    ASSERT_EQ(video_.size(), 1U);
    ASSERT_EQ(audio_.size(), 2U) << "what was before the first picture is left out";
    EXPECT_EQ(audio_[0]->time_ms(), video_[0]->time_ms());
    EXPECT_EQ(audio_[1]->time_ms(), video_[0]->time_ms() + 20);
}

constexpr int64_t kCameraUs = 981'173'106'000'000;  // 2001-02-03T04:05:06Z

TEST_F(RtpIngestTest, TheStreamLearnsThePublishersWallClock) {
    camera_.set_config(test::kAvcBaselineConfig);
    start();
    EXPECT_TRUE(stream_.publisher_clock().awaited(now_));
    report(kVideoSsrc, rtcp::ntp_from_unix_us(kCameraUs), 5'000);
    EXPECT_FALSE(wall_offset_us()) << "no frame has come";
    send(Picture::kKey, 0);
    ASSERT_EQ(video_.size(), 1U);
    ASSERT_TRUE(wall_offset_us());
    EXPECT_FALSE(stream_.publisher_clock().awaited(now_));
    EXPECT_NEAR(*wall_offset_us() + video_[0]->time_ms() * 1000, kCameraUs, 1'000);
    for (uint32_t i = 1; i <= 100; i++) {
        send(Picture::kReferenced, i);
    }
    report(kVideoSsrc, rtcp::ntp_from_unix_us(kCameraUs + 100 * 40'000), 5'000 + 100 * kFrame);
    send(Picture::kReferenced, 101);
    EXPECT_NEAR(*wall_offset_us() + video_[0]->time_ms() * 1000, kCameraUs, 1'000);
    EXPECT_EQ(stream_.publisher_clock().changes(), 0U);
}

TEST_F(RtpIngestTest, PlayersWaitForAPublishersClockForAWhileOnly) {
    start();
    EXPECT_TRUE(stream_.publisher_clock().awaited(now_));
    EXPECT_FALSE(stream_.publisher_clock().awaited(now_ + stream::PublisherClock::kMaxWait));
    EXPECT_FALSE(wall_offset_us());
}

TEST_F(RtpIngestTest, APublisherWithoutAClockIsNotAwaited) {
    tracks_.resize(1);
    tracks_[0] = {};
    tracks_[0].transport_stream = true;
    tracks_[0].payload_type = 33;
    tracks_[0].clock_hz = 90'000;
    start();
    EXPECT_FALSE(stream_.publisher_clock().awaited(now_));
}

TEST_F(RtpIngestTest, AClockOfNineteenSeventyIsRefused) {
    camera_.set_config(test::kAvcBaselineConfig);
    start();
    report(kVideoSsrc, rtcp::ntp_from_unix_us(60'000'000), 5'000);
    send(Picture::kKey, 0);
    EXPECT_EQ(stream_.publisher_clock().state(), stream::PublisherClock::State::kRefused);
    EXPECT_FALSE(wall_offset_us());
    EXPECT_FALSE(stream_.publisher_clock().awaited(now_)) << "players are told the server's";
}

// Cameras write 0 or another byte order into their reports, or have one SSRC for both tracks.
TEST_F(RtpIngestTest, ReportsBelongToTheTrackThatTheyCameOn) {
    camera_.set_config(test::kAvcBaselineConfig);
    start();
    test::RtpSource microphone(media::Codec::kOpus, kType + 1, kVideoSsrc);
    const rtcp::NtpTime moment = rtcp::ntp_from_unix_us(1'800'000'000'000'000);
    report(0, moment, 5'000, 0);
    report(0, moment, 9'000, 1);
    send(Picture::kKey, 0, {}, 0);
    pass(Millis(700));
    for (const Bytes& packet : microphone.packets(test::counted({0xFC}, 60, 1), 9'000)) {
        ingest_->on_rtp(now_, packet, 1);
    }
    ASSERT_EQ(video_.size(), 1U);
    ASSERT_EQ(audio_.size(), 1U);
    EXPECT_EQ(audio_[0]->time_ms(), video_[0]->time_ms());
}

TEST_F(RtpIngestTest, AFirstPictureOfDoubtfulMarkersWaitsForAMomentOnly) {
    RtpIngestOptions options;
    options.doubt_markers = true;
    camera_.set_config(test::kAvcBaselineConfig);
    start(options);
    frames_.push_back(test::nal_frame({test::h264_nal(Picture::kKey, 0, 3'000)}));
    for (const Bytes& packet : camera_.packets(frames_.back(), 5'000)) {
        ingest_->on_rtp(now_, packet);
    }
    EXPECT_TRUE(video_.empty());
    EXPECT_LE(ingest_->next_timeout(), now_ + RtpIngest::kMaxHeld);
    pass(RtpIngest::kMaxHeld);
    ASSERT_EQ(video_.size(), 1U);
    send(Picture::kReferenced, 1);
    EXPECT_EQ(video_.size(), 2U);
}

TEST_F(RtpIngestTest, ReportsOfNobodyAreForgotten) {
    camera_.set_config(test::kAvcBaselineConfig);
    start();
    const size_t before = ingest_->heap_bytes();
    for (uint32_t ssrc = 1; ssrc < 10'000; ssrc++) {
        report(ssrc, rtcp::ntp_from_unix_us(1'800'000'000'000'000), 0);
    }
    EXPECT_LE(ingest_->heap_bytes(), before + RtpIngest::kMaxEarlyReports * 48);
}

// Whoever knows the address may send: what is no packet of ours costs nothing and changes nothing.
TEST_F(RtpIngestTest, TruncatedPacketsAtEveryLengthArePublishedByNobody) {
    camera_.set_config(test::kAvcBaselineConfig);
    start();
    send(Picture::kKey, 0);
    const Bytes whole = camera_.packet(test::h264_nal(Picture::kReferenced, 7, 30), 9'000, true);
    Bytes padded = whole;
    padded[0] |= 0x20;  // says that it ends in padding, as long as its last byte says
    padded.back() = 0xff;
    Bytes extended = whole;
    extended[0] |= 0x10;  // says that a header extension follows, longer than the packet
    extended[14] = 0xff;
    for (const Bytes& packet : {padded, extended}) {
        ingest_->on_rtp(now_, packet);
    }
    for (size_t size = 0; size < rtp::kFixedHeaderSize; size++) {
        ingest_->on_rtp(now_, ByteSpan(whole).first(size));
    }
    EXPECT_EQ(video_.size(), 1U);
    EXPECT_EQ(ingest_->stats().frames, 1U);
}

TEST_F(RtpIngestTest, AFrameWhosePacketsAreRepeatedIsPublishedOnce) {
    camera_.set_config(test::kAvcBaselineConfig);
    start();
    for (uint32_t shown = 0; shown < 3; shown++) {
        const Bytes frame = test::nal_frame(
            {test::h264_nal(shown == 0 ? Picture::kKey : Picture::kReferenced, shown, 3'000)});
        const std::vector<Bytes> packets = camera_.packets(frame, 5'000 + shown * kFrame);
        for (int again = 0; again < 3; again++) {
            for (const Bytes& packet : packets) {
                ingest_->on_rtp(now_, packet);
            }
        }
        pass(Millis(40));
    }
    EXPECT_EQ(video_.size(), 3U);
    EXPECT_EQ(ingest_->stats().dropped_frames, 0U);
}

TEST_F(RtpIngestTest, GarbageBehindAGoodHeaderCostsFramesAndNotTheStream) {
    camera_.set_config(test::kAvcBaselineConfig);
    start();
    uint32_t random = 1;
    for (int i = 0; i < 2'000; i++) {
        Bytes payload;
        random = random * 1664525 + 1013904223;
        for (uint32_t size = (random >> 16) % 60; payload.size() < size;) {
            random = random * 1664525 + 1013904223;
            payload.push_back(static_cast<uint8_t>(random >> 24));
        }
        ingest_->on_rtp(
            now_, camera_.packet(payload, 5'000 + static_cast<uint32_t>(i) * 90, random % 3 == 0));
        pass(Millis(1));
    }
    EXPECT_LE(ingest_->heap_bytes(), 1U << 20U);
    const size_t before = video_.size();
    pass(Seconds(1));
    send(Picture::kKey, 2'000);
    send(Picture::kReferenced, 2'001);
    EXPECT_GE(video_.size(), before + 1) << "a key frame brings it back";
    EXPECT_EQ(payload(video_.back()), frames_.back());
}

// MP2T: seven packets of the transport stream in each of RTP.
class RtpTransportStreamTest : public RtpIngestTest {
  protected:
    RtpTransportStreamTest() {
        tracks_.resize(1);
        tracks_[0] = {};
        tracks_[0].payload_type = 33;
        tracks_[0].clock_hz = 90'000;
        tracks_[0].transport_stream = true;
        start();
        mpegts::StreamInfo video;
        video.pid = 0x100;
        video.content = mpegts::Content::kH264;
        ts_.pat({{1, 0x1000}}).pmt(0x1000, 1, {video});
    }

    void frame(bool key, uint32_t number) {
        const Bytes nal = test::h264_nal(key ? Picture::kKey : Picture::kReferenced, number, 3'000);
        const std::vector<Bytes> nals =
            key ? std::vector<Bytes>{test::kAvcHighSps, test::kAvcHighPps, nal}
                : std::vector<Bytes>{nal};
        ts_.pes(0x100, 90'000 + number * kFrame, {}, test::annex_b(nals));
        frames_.push_back(test::nal_frame({nal}));
    }

    // What is in ts_, with one packet of RTP left out, and two in the wrong order.
    void send_all(std::optional<size_t> lost, std::optional<size_t> swapped) {
        std::vector<Bytes> packets;
        constexpr size_t kPart = 7 * mpegts::kPacketSize;
        for (size_t at = 0; at < ts_.out.size(); at += kPart) {
            rtp::Header header;
            header.payload_type = 33;
            header.sequence = sequence_++;
            header.timestamp = 77;
            header.ssrc = kVideoSsrc;
            Bytes packet(rtp::kFixedHeaderSize);
            rtp::write_header(header, packet.data());
            const ByteSpan part =
                ByteSpan(ts_.out).subspan(at, std::min(kPart, ts_.out.size() - at));
            packet.insert(packet.end(), part.begin(), part.end());
            packets.push_back(std::move(packet));
        }
        if (swapped) {
            std::swap(packets[*swapped], packets[*swapped + 1]);
        }
        for (size_t i = 0; i < packets.size(); i++) {
            if (i != lost) {
                ingest_->on_rtp(now_, packets[i], 0);
            }
        }
        ts_.out.clear();
        pass(Millis(3'000));
    }

    test::TsBuilder ts_;
    uint16_t sequence_ = 65'530;
};

TEST_F(RtpTransportStreamTest, TheProgrammeBecomesTheStream) {
    for (uint32_t i = 0; i < 20; i++) {
        frame(i == 0, i);
    }
    send_all({}, 3);
    ASSERT_EQ(video_.size(), 20U);
    for (size_t i = 0; i < 20; i++) {
        EXPECT_EQ(payload(video_[i]), frames_[i]);
        EXPECT_EQ(video_[i]->time_ms() - video_[0]->time_ms(), static_cast<int64_t>(i) * 40);
    }
    ASSERT_EQ(configs_.size(), 1U);
    EXPECT_EQ(ingest_->stats().frames, 20U);
    EXPECT_EQ(ingest_->stats().dropped_frames, 0U);
    EXPECT_EQ(stream_.description().width, test::kSampleWidth);
}

TEST_F(RtpTransportStreamTest, AfterALossTheVideoGoesOnWithTheNextKeyFrame) {
    for (uint32_t i = 0; i < 30; i++) {
        frame(i % 10 == 0, i);
    }
    send_all(13, {});
    EXPECT_LT(video_.size(), 30U);
    EXPECT_GE(video_.size(), 22U);
    bool after_loss = false;
    for (size_t i = 1; i < video_.size(); i++) {
        if (video_[i]->time_ms() - video_[i - 1]->time_ms() > 40) {
            after_loss = true;
            EXPECT_TRUE(video_[i]->info().key);
        }
    }
    EXPECT_TRUE(after_loss);
}

TEST_F(RtpTransportStreamTest, WhatIsNoTransportStreamIsCounted) {
    ts_.out.assign(2 * 1316, 0x11);
    send_all({}, {});
    EXPECT_TRUE(video_.empty());
    EXPECT_EQ(ingest_->stats().dropped_frames, 2U);
}

}  // namespace
}  // namespace weir::net
