// A stream goes out as plain RTP over UDP to a socket, and what comes there is a stream again: the
// pieces of net/rtp as a protocol without WebRTC uses them.
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "io/runtime.h"
#include "io/udp.h"
#include "net/play_rules.h"
#include "net/rtp/rtp_ingest.h"
#include "net/rtp/rtp_pump.h"
#include "net/rtp/rtp_sender.h"

#include "test/support/io/loopback.h"
#include "test/support/rtp_media.h"

namespace weir::net {
namespace {

using media::TrackKind;
using test::Picture;
using test::TestPublisher;

constexpr uint8_t kVideoType = 96;
constexpr uint8_t kAudioType = 97;
constexpr size_t kRtcpRoom = 1200;

RtpTrackSetup video_setup() {
    return {kVideoType, 0x1111, 90'000};
}

RtpTrackSetup audio_setup() {
    return {kAudioType, 0x2222, 48'000};
}

std::unique_ptr<io::UdpSocket> bound_socket() {
    auto socket = io::UdpSocket::bind(io::loopback(), {.receive_buffer_bytes = 4 << 20});
    WEIR_CHECK(socket.ok());
    return std::move(*socket);
}

// A player as a session for plain RTP would be: a sender without a seal, and a socket.
class UdpPlayer final : public RtpPlayer, private RtpOutlet {
  public:
    UdpPlayer(RtpPump& pump, const io::SocketAddress& to)
        : pump_(pump),
          socket_(bound_socket()),
          to_{to.net_address(), {}},
          sender_(
              pump.writer().log(), sealer_, &audio_, &video_, system_random(), MonoClock::now()) {
        pump_.hold();
        pump_.add(*this);
    }

    ~UdpPlayer() override { leave(); }

    void leave() {
        if (!left_) {
            left_ = true;
            pump_.remove(*this);
            pump_.release();
        }
    }

    RtpFlush flush(MonoTime now, size_t most_runs) override {
        return sender_.flush(now, *this, most_runs);
    }

    // True when a sender report was due and went out.
    bool report() {
        std::array<uint8_t, kRtcpRoom> out;
        const size_t size = sender_.report(MonoClock::now(), MonoTime{}, out);
        return size > 0 && send_burst(ByteSpan(out).first(size), 0);
    }

    // A compound of the other side.
    void on_rtcp(ByteSpan compound) {
        rtcp::PacketView packet;
        for (rtcp::CompoundReader in(compound); in.next(packet);) {
            sender_.on_rtcp(MonoClock::now(), packet);
        }
    }

    Fate look(MonoTime) override {
        looks++;
        return {};
    }

    void end_playing(EndClass why, std::string_view) override {
        ended = why;
        leave();
    }

    bool send_burst(ByteSpan packets, size_t segment_bytes) override {
        return socket_->send(to_, packets, segment_bytes).status != io::IoStatus::kWouldBlock;
    }

    const RtpSender& sender() const { return sender_; }

    std::optional<EndClass> ended;
    int looks = 0;

  private:
    RtpPump& pump_;
    RtpTrackSetup audio_ = audio_setup();
    RtpTrackSetup video_ = video_setup();
    PlainRtpSealer sealer_;
    std::unique_ptr<io::UdpSocket> socket_;
    io::UdpPath to_;
    RtpSender sender_;
    bool left_ = false;
};

// What a stream gives to its players.
class Collector final : public stream::PacketSink {
  public:
    void on_packet(const media::PacketRef& packet, const stream::Configs*) override {
        (packet->info().config                      ? configs
         : packet->info().kind == TrackKind::kVideo ? video
                                                    : audio)
            .push_back(packet);
    }

    void on_start_lost(stream::StartLost) override {}

    std::vector<media::PacketRef> configs;
    std::vector<media::PacketRef> video;
    std::vector<media::PacketRef> audio;
};

// Takes RTP from a socket into a stream, as a session for plain RTP would.
class UdpSource final : public stream::Publisher {
  public:
    explicit UdpSource(bool b_frames)
        : socket_(bound_socket()), stream_({"v", "live", "copy"}, {}, MonoClock::now()) {
        Error error =
            stream_.start_publish(*this, stream::PublishConflict::kRefuse, MonoClock::now());
        WEIR_CHECK(!error);
        stream_.attach(got);
        std::vector<RtpIngestTrack> tracks(2);
        tracks[0].kind = TrackKind::kVideo;
        tracks[0].codec = media::Codec::kH264;
        tracks[0].payload_type = kVideoType;
        tracks[0].clock_hz = 90'000;
        tracks[1].kind = TrackKind::kAudio;
        tracks[1].codec = media::Codec::kOpus;
        tracks[1].payload_type = kAudioType;
        tracks[1].clock_hz = 48'000;
        RtpIngestOptions options;
        options.b_frames = b_frames;
        ingest = std::make_unique<RtpIngest>(stream_, *this, std::move(tracks), options);
        reader_ = io::go([this] { read(); });
    }

    ~UdpSource() {
        socket_->close();
        reader_.join();
        ingest.reset();
        stream_.detach(got);
        stream_.end_publish(*this, MonoClock::now());
    }

    std::string describe() const override { return "the test"; }

    std::string_view client_id() const override { return "test"; }

    void on_taken_over() override {}

    io::SocketAddress address() const { return socket_->local(); }

    Collector got;
    std::unique_ptr<RtpIngest> ingest;
    int reports = 0;

  private:
    void read() {
        while (!socket_->wait_readable(io::soon())) {
            const auto take = [this](std::span<uint8_t> datagram, const io::UdpPath&) {
                const MonoTime now = MonoClock::now();
                if (!rtp::is_rtcp(datagram)) {
                    ingest->on_rtp(now, datagram);
                    return;
                }
                reports++;
                rtcp::PacketView packet;
                for (rtcp::CompoundReader in(datagram); in.next(packet);) {
                    ingest->on_rtcp(now, packet);
                }
            };
            while (socket_->receive(take)) {
            }
        }
    }

    std::unique_ptr<io::UdpSocket> socket_;
    stream::Stream stream_;
    io::Coroutine reader_;
};

class RtpOverUdp : public testing::Test {
  protected:
    RtpOverUdp() {
        stream_.attach(original_);
        publisher_ = std::make_unique<TestPublisher>(stream_);
        profile_.b_frames = RtpProfile::BFrames::kSend;
    }

    ~RtpOverUdp() override {
        pumping_.interrupt();
        pumping_.join();
        publisher_.reset();
        stream_.detach(original_);
    }

    void start_pump() {
        pump_ = std::make_unique<RtpPump>(stream_, RtpPumpOptions{},
                                          std::make_unique<RtpLogWriter>(profile_));
        pump_->hold();
        pumping_ = io::go([this] { pump_->run(); });
    }

    // A GOP of 16 frames with audio; with B-frames: I P b b P b b ...
    void send_gop(bool b_frames) {
        for (int i = 0; i < 16; i++) {
            const bool b = b_frames && i > 0 && i % 3 != 1;
            const int32_t ahead = !b_frames ? 0 : i == 0 ? 40 : b ? 0 : 120;
            publisher_->video(i == 0 ? Picture::kKey
                              : b    ? Picture::kB
                                     : Picture::kReferenced,
                              i == 0 ? 60'000 : 3'000, ahead);
            publisher_->opus();
            publisher_->pass(20);
            publisher_->opus();
            publisher_->pass(20);
            io::yield();
        }
    }

    static Bytes payload(const media::PacketRef& packet) {
        return Bytes(packet->payload().begin(), packet->payload().end());
    }

    // What came is what was sent: bytes, kinds, and times, which differ by a constant.
    static void expect_same(const std::vector<media::PacketRef>& got,
                            const std::vector<media::PacketRef>& sent,
                            int64_t shift_ms) {
        ASSERT_EQ(got.size(), sent.size());
        for (size_t i = 0; i < sent.size(); i++) {
            SCOPED_TRACE(testing::Message() << "packet " << i << " of " << sent.size());
            EXPECT_EQ(payload(got[i]), payload(sent[i]));
            EXPECT_EQ(got[i]->info().key, sent[i]->info().key);
            EXPECT_EQ(got[i]->info().codec, sent[i]->info().codec);
            const int64_t shown = got[i]->time_ms() + got[i]->info().composition_ms;
            const int64_t wanted = sent[i]->time_ms() + sent[i]->info().composition_ms;
            EXPECT_NEAR(static_cast<double>(shown), static_cast<double>(wanted + shift_ms), 1.0);
            if (i > 0) {
                EXPECT_GE(got[i]->time_ms(), got[i - 1]->time_ms());
            }
        }
    }

    RtpProfile profile_;
    stream::Stream stream_{{"v", "live", "a"}, {}, MonoClock::now()};
    Collector original_;
    std::unique_ptr<TestPublisher> publisher_;
    std::unique_ptr<RtpPump> pump_;
    io::Coroutine pumping_;
};

class RtpOverUdpTest : public RtpOverUdp, public testing::WithParamInterface<bool> {};

TEST_P(RtpOverUdpTest, TheFramesThatComeAreThoseThatWereSent) {
    const bool b_frames = GetParam();
    UdpSource source(b_frames);
    start_pump();
    UdpPlayer player(*pump_, source.address());
    publisher_->config(b_frames ? test::kAvcHighConfig : test::kAvcBaselineConfig);
    send_gop(b_frames);
    send_gop(b_frames);
    ASSERT_TRUE(io::eventually([&] {
        return source.got.video.size() == original_.video.size() &&
               source.got.audio.size() == original_.audio.size();
    })) << source.got.video.size()
        << " frames and " << source.got.audio.size() << " of audio";
    EXPECT_EQ(original_.video.size(), 32U);
    EXPECT_EQ(source.ingest->stats().dropped_frames, 0U);

    const media::PacketRef& first = source.got.video[0];
    const int64_t shift = first->time_ms() + first->info().composition_ms -
                          original_.video[0]->time_ms() - original_.video[0]->info().composition_ms;
    expect_same(source.got.video, original_.video, shift);
    int b_frames_come = 0;
    for (const media::PacketRef& packet : source.got.video) {
        b_frames_come += packet->info().composition_ms > 0 ? 1 : 0;
        EXPECT_GE(packet->info().composition_ms, 0);
    }
    EXPECT_EQ(b_frames_come > 0, b_frames);
    int video_configs = 0;
    for (const media::PacketRef& config : source.got.configs) {
        if (config->info().kind == TrackKind::kVideo) {
            video_configs++;
            EXPECT_EQ(payload(config), b_frames ? test::kAvcHighConfig : test::kAvcBaselineConfig);
        }
    }
    EXPECT_EQ(video_configs, 1);
    for (size_t i = 0; i < source.got.audio.size(); i++) {
        EXPECT_EQ(payload(source.got.audio[i]), payload(original_.audio[i]));
    }

    // Reports there and back. Not before: they would move the tracks' times.
    ASSERT_TRUE(io::eventually([&] { return player.report(); }));
    ASSERT_TRUE(io::eventually([&] { return source.reports > 0; }));
    EXPECT_EQ(player.sender().stats().rtt, Micros(0));
    std::array<uint8_t, kRtcpRoom> out;
    size_t size = 0;
    ASSERT_TRUE(io::eventually([&] {
        size = source.ingest->poll_transmit(MonoClock::now(), out);
        return size > 0;
    }));
    player.on_rtcp(ByteSpan(out).first(size));
    EXPECT_GT(player.sender().stats().rtt, Micros(0));
    EXPECT_EQ(player.sender().stats().loss, 0);
    player.leave();
    pump_->release();
}

INSTANTIATE_TEST_SUITE_P(BFrames, RtpOverUdpTest, testing::Bool(), [](const auto& param) {
    return param.param ? "With" : "Without";
});

using RtpPumpTest = RtpOverUdp;

TEST_F(RtpPumpTest, ReconfigureReachesPlayersThatWait) {
    UdpSource source(false);
    start_pump();
    UdpPlayer player(*pump_, source.address());
    publisher_->config();
    send_gop(false);
    publisher_->end();
    ASSERT_TRUE(io::eventually([&] { return player.looks > 0; }));
    EXPECT_FALSE(player.ended.has_value());  // the default is 30 s
    PumpOptions at_once;
    at_once.wait_publisher = Millis(0);
    pump_->reconfigure(at_once);
    ASSERT_TRUE(io::eventually([&] { return player.ended.has_value(); }));
    EXPECT_EQ(*player.ended, EndClass::kNoPublisher);
    EXPECT_EQ(pump_->players(), 0U);
    pump_->release();
}

TEST_F(RtpPumpTest, EndsWhenNobodyHoldsIt) {
    start_pump();
    pump_->release();
    pumping_.join();
    EXPECT_TRUE(pump_->idle());
}

}  // namespace
}  // namespace weir::net
