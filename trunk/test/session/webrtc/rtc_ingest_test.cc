// A browser that publishes over a bad path, in memory: what comes into the stream.
#include "session/webrtc/rtc_ingest.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "media/opus.h"
#include "proto/rtcp/feedback.h"
#include "proto/rtp/rtx.h"

#include "test/session/webrtc/rtc_media.h"
#include "test/support/netem.h"

namespace weir::session {
namespace {

using media::Codec;
using media::TrackKind;

constexpr uint32_t kVideoSsrc = 0x11112222;
constexpr uint32_t kRtxSsrc = 0x33334444;
constexpr uint32_t kAudioSsrc = 0x55556666;
constexpr uint8_t kVideoType = 102;
constexpr uint8_t kRtxType = 103;
constexpr uint8_t kAudioType = 111;
constexpr uint8_t kRidId = 10;
constexpr MonoTime kStart{Seconds(5000)};
constexpr int64_t kUnixUs = 1'700'000'000'000'000;  // at kStart, for the browser

// What the stream hands out to players of WebRTC.
class Record final : public stream::PacketSink {
  public:
    media::Audience audience() const override { return media::Audience::kWebRtc; }

    void on_packet(const media::PacketRef& packet, const stream::Configs*) override {
        const media::PacketInfo& info = packet->info();
        const Bytes payload(packet->payload().begin(), packet->payload().end());
        if (info.config) {
            (info.kind == TrackKind::kVideo ? video_configs : audio_configs).push_back(payload);
        } else if (info.kind == TrackKind::kVideo) {
            video.push_back(payload);
            video_times.push_back(packet->time_ms());
        } else {
            audio.push_back(payload);
            audio_times.push_back(packet->time_ms());
        }
    }

    void on_start_lost(stream::StartLost) override {}

    std::vector<Bytes> video;
    std::vector<int64_t> video_times;
    std::vector<Bytes> audio;
    std::vector<int64_t> audio_times;
    std::vector<Bytes> video_configs;
    std::vector<Bytes> audio_configs;
};

struct Path {
    test::NetemOptions netem{};
    bool nack = true;
    bool named_rtx = true;  // by the description
    bool layers = false;    // simulcast
};

class RtcIngestTest : public testing::Test, protected stream::Publisher {
  protected:
    RtcIngestTest() {
        stream_.attach(record_);
        Error error = stream_.start_publish(*this, stream::PublishConflict::kRefuse, now_);
        EXPECT_FALSE(error);
        camera_.set_config(test::kAvcBaselineConfig);
    }

    ~RtcIngestTest() override {
        publisher_.reset();
        stream_.end_publish(*this, now_);
        stream_.detach(record_);
    }

    std::string describe() const override { return "the test"; }

    std::string_view client_id() const override { return "test"; }

    void on_taken_over() override {}

    void start(const Path& path, uint64_t seed = 1, const RtcIngestOptions& options = {}) {
        path_ = path;
        forth_.emplace(path.netem, seed);
        back_.emplace(test::NetemOptions{.loss = path.netem.loss, .delay = path.netem.delay},
                      seed + 1000);
        sdp::Answer answer;
        sdp::NegotiatedMedia& video = answer.media.emplace_back();
        video.kind = TrackKind::kVideo;
        video.codec = Codec::kH264;
        video.payload_type = kVideoType;
        video.clock_hz = 90'000;
        video.feedback.nack = path.nack;
        video.feedback.pli = true;
        video.rtx_payload_type = kRtxType;
        if (path.named_rtx) {
            video.remote_ssrcs.push_back({kVideoSsrc, kRtxSsrc});
        }
        if (path.layers) {
            video.rids = {"q", "h"};
            video.extensions.set(sdp::Extension::kRid, kRidId);
        }
        sdp::NegotiatedMedia& audio = answer.media.emplace_back();
        audio.kind = TrackKind::kAudio;
        audio.codec = Codec::kOpus;
        audio.payload_type = kAudioType;
        audio.clock_hz = 48'000;
        for (sdp::NegotiatedMedia& media : answer.media) {
            media.accepted = true;
            media.direction = sdp::Direction::kRecvOnly;
        }
        publisher_ = std::make_unique<RtcIngest>(stream_, self_, answer, options);
    }

    // ---- the browser ----

    uint32_t video_time() const {
        return video_offset_ + static_cast<uint32_t>((now_ - kStart).count() * 9 / 100);
    }

    uint32_t audio_time() const {
        return audio_offset_ + static_cast<uint32_t>((now_ - kStart).count() * 48 / 1000);
    }

    void send_video(size_t size = 4000) {
        const bool key = wants_key_;
        wants_key_ = false;
        frames_.push_back(test::nal_frame({h264_nal(key ? Picture::kKey : Picture::kReferenced,
                                                    static_cast<uint32_t>(frames_.size()), size)}));
        keys_.push_back(key);
        whole_.push_back(true);
        for (Bytes& packet : camera_.packets(frames_.back(), video_time())) {
            const uint64_t lost = forth_->lost();
            forth_->send(now_, packet);
            whole_.back() = whole_.back() && forth_->lost() == lost;
            history_[rtp::sequence_of(packet.data())] = std::move(packet);
        }
    }

    void send_audio() {
        audio_frames_.push_back(
            test::counted({0xFC}, 60, static_cast<uint32_t>(audio_frames_.size())));
        forth_->send(now_, microphone_.packet(audio_frames_.back(), audio_time(), true));
    }

    // Of a clock of its own, with the time of both tracks now.
    void send_reports() {
        std::array<uint8_t, 200> buffer;
        rtcp::CompoundWriter writer(buffer);
        const rtcp::NtpTime ntp = rtcp::ntp_from_unix_us(kUnixUs + (now_ - kStart).count());
        writer.sender_report({camera_.ssrc(), ntp, video_time(), 0, 0}, {});
        writer.sender_report({microphone_.ssrc(), ntp, audio_time(), 0, 0}, {});
        forth_->send(now_, writer.written());
    }

    void answer(ByteSpan compound) {
        rtcp::PacketView packet;
        for (rtcp::CompoundReader reader(compound); reader.next(packet);) {
            if (const auto nack = rtcp::parse_nack(packet)) {
                EXPECT_EQ(nack->sources.media_ssrc, kVideoSsrc);
                nack->for_each_lost([&](uint16_t sequence) {
                    const auto found = history_.find(sequence);
                    ASSERT_NE(found, history_.end()) << "a number that was never sent";
                    std::array<uint8_t, 1500> out;
                    const size_t size = rtp::wrap_rtx(
                        found->second,
                        {kRtxType, false, static_cast<uint16_t>(rtx_sequence_++), 0, kRtxSsrc},
                        out);
                    forth_->send(now_, ByteSpan(out).first(size));
                });
            } else if (rtcp::parse_picture_loss(packet)) {
                wants_key_ = true;
            }
        }
    }

    // ---- time ----

    void deliver() {
        while (const std::optional<Bytes> datagram = forth_->receive(now_)) {
            if (rtp::is_rtcp(*datagram)) {
                rtcp::PacketView packet;
                for (rtcp::CompoundReader reader(*datagram); reader.next(packet);) {
                    publisher_->on_rtcp(now_, packet);
                }
            } else {
                publisher_->on_rtp(now_, *datagram);
            }
        }
        publisher_->handle_timeout(now_);
        std::array<uint8_t, 1180> buffer;
        int reports = 0;
        while (const size_t size = publisher_->poll_transmit(now_, buffer)) {
            back_->send(now_, ByteSpan(buffer).first(size));
            ASSERT_LT(++reports, 100) << "it never has said all";
        }
        const auto next = publisher_->next_timeout();
        ASSERT_TRUE(next.has_value());
        ASSERT_GT(*next, now_) << "its timer would spin";
        while (const std::optional<Bytes> compound = back_->receive(now_)) {
            answer(*compound);
        }
    }

    // 25 frames of video a second, 50 of audio, a report each second.
    void run(Micros duration, size_t size = 4000) {
        for (const MonoTime end = now_ + duration; now_ < end; now_ += Millis(1)) {
            const int64_t ms = (now_ - kStart).count() / 1000;
            if (ms % 40 == 0) {
                send_video(size);
            }
            if (ms % 20 == 5) {
                send_audio();
            }
            if (ms % 1000 == 500) {
                send_reports();
            }
            deliver();
            if (HasFatalFailure()) {
                return;
            }
        }
    }

    void settle() {
        for (int i = 0; i < 2000; i++) {
            now_ += Millis(1);
            deliver();
        }
    }

    // Each frame is one that was sent, whole; and unless it is a key frame, the one before it is
    // there, too.
    void expect_decodable() const {
        std::map<Bytes, size_t> index;
        for (size_t i = 0; i < frames_.size(); i++) {
            index[frames_[i]] = i;
        }
        std::optional<size_t> last;
        for (const Bytes& frame : record_.video) {
            const auto found = index.find(frame);
            ASSERT_NE(found, index.end()) << "a frame that was never sent so";
            const size_t i = found->second;
            if (last) {
                ASSERT_GT(i, *last);
            }
            ASSERT_TRUE(keys_[i] || (last && i == *last + 1))
                << "frame " << i << " refers to one that is not there";
            last = i;
        }
    }

    stream::Publisher& self_ = *this;
    MonoTime now_ = kStart;
    stream::Stream stream_{{"v", "live", "a"}, {}, kStart};
    Record record_;
    std::unique_ptr<RtcIngest> publisher_;
    Path path_;
    std::optional<test::Netem> forth_;
    std::optional<test::Netem> back_;
    RtpSource camera_{Codec::kH264, kVideoType, kVideoSsrc};
    RtpSource microphone_{Codec::kOpus, kAudioType, kAudioSsrc, 7};
    uint32_t video_offset_ = 0xFFFF'0000;
    uint32_t audio_offset_ = 0x7654'3210;
    uint64_t rtx_sequence_ = 60'000;
    bool wants_key_ = true;
    std::vector<Bytes> frames_;
    std::vector<bool> keys_;
    std::vector<bool> whole_;  // none of its packets was lost on the way
    std::vector<Bytes> audio_frames_;
    std::map<uint16_t, Bytes> history_;
};

TEST_F(RtcIngestTest, CleanPathGivesEveryFrameWithItsConfiguration) {
    start({.netem = {.delay = Millis(30)}});
    run(Seconds(4));
    settle();
    EXPECT_EQ(record_.video, frames_);
    EXPECT_EQ(record_.audio, audio_frames_);
    ASSERT_EQ(record_.video_configs.size(), 1U);
    EXPECT_EQ(record_.audio_configs, std::vector<Bytes>{media::opus::build_head(2)});
    EXPECT_EQ(publisher_->stats().dropped_frames, 0U);
    EXPECT_EQ(stream_.description().width, test::kSampleWidth);
    EXPECT_EQ(stream_.description().height, test::kSampleHeight);
    for (size_t i = 1; i < record_.video_times.size(); i++) {
        EXPECT_NEAR(static_cast<double>(record_.video_times[i] - record_.video_times[i - 1]), 40,
                    6);
    }
}

// RFC 6184 §5.1: a receiver must not rely on the marker.
TEST_F(RtcIngestTest, PicturesOfSlicesWithAMarkerOnEachPacketAreWhole) {
    start({});
    for (uint32_t number = 0; number < 20; number++) {
        const Picture picture = number == 0 ? Picture::kKey : Picture::kReferenced;
        Bytes rest = h264_nal(picture, 100 + number, 90);
        rest[1] = 0x26;  // it does not begin at the first macroblock
        const Bytes first = h264_nal(picture, number, 100);
        frames_.push_back(test::nal_frame({first, rest}));
        for (Bytes& packet : camera_.packets(test::nal_frame({first}), video_time())) {
            publisher_->on_rtp(now_, packet);  // the configuration, too; the last has the marker
        }
        publisher_->on_rtp(now_, camera_.packet(rest, video_time(), true));
        now_ += Millis(40);
    }
    frames_.pop_back();  // it waits for the next
    EXPECT_EQ(record_.video, frames_);
    EXPECT_EQ(publisher_->stats().dropped_frames, 0U);
    EXPECT_EQ(publisher_->stats().key_requests, 0U);
}

TEST_F(RtcIngestTest, OfAnHonestSourceTheFirstPictureWaitsForAMomentAndOthersDoNot) {
    start({});
    send_video();
    deliver();
    EXPECT_EQ(record_.video.size(), 0U);
    now_ += RtcIngest::kMaxHeld;
    deliver();
    EXPECT_EQ(record_.video, frames_);
    EXPECT_EQ(publisher_->stats().key_requests, 0U) << "it is the key frame";
    for (int i = 0; i < 10; i++) {
        now_ += Millis(40);
        send_video();
        deliver();
        EXPECT_EQ(record_.video, frames_);
    }
}

TEST_F(RtcIngestTest, LossIsRepairedByRetransmission) {
    for (double loss : {0.05, 0.2}) {
        for (bool named : {true, false}) {
            SCOPED_TRACE(testing::Message() << loss << (named ? " named" : " found"));
            const size_t before = frames_.size();
            start(
                {.netem = {.loss = loss, .reorder = 0.02, .delay = Millis(20), .jitter = Millis(5)},
                 .named_rtx = named});
            wants_key_ = true;
            const size_t published = record_.video.size();
            run(Seconds(20));
            settle();
            expect_decodable();
            const size_t sent = frames_.size() - before;
            EXPECT_EQ(sent, 500U);
            EXPECT_GT(record_.video.size() - published, sent * (loss < 0.1 ? 95 : 60) / 100);
            EXPECT_GT(publisher_->counters().recovered, 50U);
        }
    }
}

TEST_F(RtcIngestTest, ReorderedAndDoubledPacketsAreNoLoss) {
    start(
        {.netem = {
             .duplicate = 0.1, .reorder = 0.1, .delay = Millis(20), .reorder_delay = Millis(15)}});
    run(Seconds(10));
    settle();
    EXPECT_EQ(record_.video, frames_);
    EXPECT_EQ(record_.audio, audio_frames_);
    EXPECT_GT(publisher_->counters().duplicates + publisher_->counters().late, 50U);
    EXPECT_EQ(publisher_->counters().lost, 0U);
}

// Without retransmission it is known which frames can be shown: those that came whole, up to the
// first that did not, and from the next whole key frame on.
TEST_F(RtcIngestTest, WithoutRetransmissionExactlyTheDecodableFramesArePublished) {
    for (uint64_t seed = 1; seed <= 10; seed++) {
        SCOPED_TRACE(seed);
        frames_.clear();
        keys_.clear();
        whole_.clear();
        record_.video.clear();
        wants_key_ = true;
        camera_ = RtpSource(Codec::kH264, kVideoType, kVideoSsrc);
        camera_.set_config(test::kAvcBaselineConfig);
        start({.netem = {.loss = 0.03, .delay = Millis(20)}, .nack = false}, seed);
        run(Seconds(10));
        forth_->set_options({.delay = Millis(20)});
        run(Millis(200));
        settle();
        std::vector<Bytes> expected;
        bool broken = true;
        for (size_t i = 0; i < frames_.size(); i++) {
            broken = !whole_[i] || (broken && !keys_[i]);
            if (!broken) {
                expected.push_back(frames_[i]);
            }
        }
        EXPECT_LT(expected.size(), frames_.size());
        EXPECT_EQ(record_.video.size(), expected.size());
        EXPECT_EQ(record_.video, expected);
        EXPECT_GT(publisher_->stats().key_requests, 1U);
        EXPECT_GT(std::ranges::count(keys_, true), 1);
    }
}

TEST_F(RtcIngestTest, KeyFrameIsAskedForAgainUntilItComes) {
    start({.nack = false});
    run(Millis(200));
    const uint64_t before = publisher_->stats().key_requests;
    forth_->set_options({.loss = 1});
    send_video();
    forth_->set_options({});
    back_->set_options({.loss = 1});  // the requests do not arrive
    run(Seconds(4));
    const uint64_t asked = publisher_->stats().key_requests - before;
    EXPECT_GE(asked, 2U);
    EXPECT_LE(asked, 8U);
    back_->set_options({});
    run(Seconds(5));
    expect_decodable();
    EXPECT_EQ(record_.video.back(), frames_.back());
}

TEST_F(RtcIngestTest, KeyFramesAreAskedForAtTheConfiguredInterval) {
    start({}, 1, {.key_frame_interval = Seconds(2)});
    run(Seconds(21));
    EXPECT_NEAR(static_cast<double>(std::ranges::count(keys_, true)), 10, 1);
}

TEST_F(RtcIngestTest, OtherPictureSizeIsANewSequenceHeader) {
    start({});
    run(Seconds(1));
    camera_.set_config(test::kAvcHighConfig);
    wants_key_ = true;
    run(Seconds(1));
    settle();
    EXPECT_EQ(record_.video, frames_);
    ASSERT_EQ(record_.video_configs.size(), 2U);
    EXPECT_NE(record_.video_configs[0], record_.video_configs[1]);
}

TEST_F(RtcIngestTest, PublisherMayChangeItsSsrcAgainAndAgain) {
    start({.netem = {.reorder = 0.05, .delay = Millis(20)}, .nack = false});
    run(Millis(400));
    for (uint32_t i = 1; i <= 40; i++) {
        camera_ =
            RtpSource(Codec::kH264, kVideoType, kVideoSsrc + i, static_cast<uint16_t>(i * 999));
        camera_.set_config(test::kAvcBaselineConfig);
        video_offset_ += 0x1234'5678;
        wants_key_ = true;
        const size_t before = record_.video.size();
        run(Millis(600));
        EXPECT_GT(record_.video.size(), before) << i;
    }
    settle();
    expect_decodable();
    EXPECT_EQ(record_.video.back(), frames_.back());
    EXPECT_TRUE(std::ranges::is_sorted(record_.video_times));
    const int64_t span = record_.video_times.back() - record_.video_times.front();
    EXPECT_NEAR(static_cast<double>(span), 400 + 40 * 600, 1500);
}

TEST_F(RtcIngestTest, FloodOfOtherSourcesGrowsNothing) {
    start({});
    run(Millis(400));
    const size_t before = record_.video.size();
    test::SeededRandom random(3);
    for (int i = 0; i < 20'000; i++) {
        RtpSource other(Codec::kOpus,
                        static_cast<uint8_t>(random.below(100)),  // not of any section
                        static_cast<uint32_t>(random.u64()));
        publisher_->on_rtp(now_, other.packet(test::counted({}, 100), 0, false));
    }
    EXPECT_EQ(publisher_->stats().unknown_packets, 20'000U);
    for (int i = 0; i < 5'000; i++) {
        RtpSource other(Codec::kH264, kVideoType, static_cast<uint32_t>(random.u64()));
        publisher_->on_rtp(now_, other.packet(test::counted({0x41}, 100), 0, false));
        std::array<uint8_t, 1180> buffer;
        while (publisher_->poll_transmit(now_, buffer) > 0) {
        }
    }
    EXPECT_LE(publisher_->counters().packets, 100U);  // of the sources that there are
    // The camera is taken again, once it is no late packet.
    now_ += Seconds(3);
    wants_key_ = true;
    run(Seconds(1));
    settle();
    EXPECT_GT(record_.video.size(), before + 20);
    expect_decodable();
}

TEST_F(RtcIngestTest, ReportsPutAudioAndVideoOnOneTimeline) {
    start({.netem = {.delay = Millis(20)}});
    // Video takes 150 ms longer to make than audio: it is sent with an older time.
    video_offset_ -= 150 * 90;
    std::vector<int64_t> video_made;
    for (int i = 0; i < 20'000; i++, now_ += Millis(1)) {
        const int64_t ms = (now_ - kStart).count() / 1000;
        if (ms % 40 == 0) {
            send_video(1000);
            video_made.push_back(ms - 150);
        }
        if (ms % 20 == 0) {
            send_audio();
        }
        if (ms % 1000 == 500) {
            // The report relates times of RTP to times of capture.
            std::array<uint8_t, 200> buffer;
            rtcp::CompoundWriter writer(buffer);
            const rtcp::NtpTime ntp = rtcp::ntp_from_unix_us(kUnixUs + ms * 1000);
            writer.sender_report({kVideoSsrc, ntp, video_time() + 150 * 90, 0, 0}, {});
            writer.sender_report({kAudioSsrc, ntp, audio_time(), 0, 0}, {});
            forth_->send(now_, writer.written());
        }
        deliver();
    }
    settle();
    ASSERT_EQ(record_.video_times.size(), video_made.size());
    ASSERT_EQ(record_.audio_times.size(), audio_frames_.size());
    // What was captured at the same moment has the same time: audio frames are 20 ms apart from 0
    // on.
    const size_t last_video = video_made.size() - 1;
    const auto last_audio = static_cast<size_t>(video_made[last_video] / 20);
    const int64_t into = video_made[last_video] % 20;
    EXPECT_NEAR(static_cast<double>(record_.video_times[last_video] - into),
                static_cast<double>(record_.audio_times[last_audio]), 5);
}

TEST_F(RtcIngestTest, LayersAreMeasured) {
    start({.layers = true});
    for (int i = 0; i < 100; i++, now_ += Millis(40)) {
        const Bytes frame = test::nal_frame({h264_nal(i == 0 ? Picture::kKey : Picture::kReferenced,
                                                      static_cast<uint32_t>(i), 5000)});
        for (const Bytes& plain : camera_.packets(frame, video_time())) {
            const auto packet = rtp::PacketView::parse(plain);
            const rtp::Extension rid{kRidId, as_bytes("h")};
            Bytes bytes(rtp::header_size({&rid, 1}));
            rtp::write_header({kVideoType, packet->marker(), packet->sequence(),
                               packet->timestamp(), packet->ssrc()},
                              {&rid, 1}, bytes.data());
            bytes.insert(bytes.end(), packet->payload().begin(), packet->payload().end());
            publisher_->on_rtp(now_, bytes);
        }
        deliver();
    }
    EXPECT_EQ(record_.video.size(), 100U);
    const std::vector<RtcLayerStats> layers = publisher_->layers(now_);
    ASSERT_EQ(layers.size(), 2U);
    EXPECT_FALSE(layers[0].flowing);
    EXPECT_TRUE(layers[1].flowing && layers[1].main);
    EXPECT_EQ(layers[1].name, "h");
    EXPECT_NEAR(static_cast<double>(layers[1].bits_per_second), 1e6, 1e5);
    EXPECT_NEAR(layers[1].frame_rate, 25, 2);
}

TEST_F(RtcIngestTest, GarbageIsCountedAndNothingElse) {
    start({});
    run(Millis(400));
    test::SeededRandom random(9);
    for (int i = 0; i < 20'000; i++) {
        Bytes bytes(random.below(60));
        random.fill(bytes);
        if (bytes.size() > 12 && i % 2 == 0) {  // of the camera, with anything in it
            bytes[0] = 0x80;
            bytes[1] = kVideoType;
            store_u32(bytes.data() + 8, kVideoSsrc);
        }
        publisher_->on_rtp(now_, bytes);
        rtcp::PacketView packet;
        for (rtcp::CompoundReader reader(bytes); reader.next(packet);) {
            publisher_->on_rtcp(now_, packet);
        }
    }
    EXPECT_GT(publisher_->stats().unknown_packets, 1000U);
    // The camera finds its way back, wherever the garbage has led.
    wants_key_ = true;
    run(Seconds(5));
    settle();
    EXPECT_EQ(record_.video.back(), frames_.back());
}

}  // namespace
}  // namespace weir::session
