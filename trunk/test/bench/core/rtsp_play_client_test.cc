#include "bench/load/core/rtsp_play_client.h"

#include <gtest/gtest.h>

#include "proto/rtp/packetizer.h"

#include "bench/load/core/synthetic.h"
#include "test/support/counting_random.h"

namespace weir::load {
namespace {

constexpr uint32_t kSsrc = 7001;
constexpr uint8_t kType = 96;
constexpr std::string_view kDescription =
    "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=x\r\nt=0 0\r\n"
    "m=application 0 RTP/AVP 98\r\na=rtpmap:98 vnd.x/90000\r\na=control:other\r\n"
    "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:trackID=0\r\n";

class Packets final : public rtp::PayloadSink {
  public:
    void on_payload(std::span<const ByteSpan> parts, bool last) override {
        Bytes& packet = all.emplace_back(rtp::kFixedHeaderSize);
        rtp::write_header({kType, last, next, time, kSsrc}, packet.data());
        next++;
        for (const ByteSpan part : parts) {
            packet.insert(packet.end(), part.begin(), part.end());
        }
    }

    std::vector<Bytes> all;
    uint16_t next = 0;
    uint32_t time = 0;
};

class RtspPlayClientTest : public testing::Test {
  protected:
    RtspPlayClientTest() { totals_.stall_ns = 1'000'000'000; }

    uint64_t ns() const { return static_cast<uint64_t>(now_.time_since_epoch().count()) * 1000; }

    void make() {
        client_ = std::make_unique<RtspPlayClient>(
            rtsp::Url::parse("rtsp://server.example/live/x").value(), options_, check_, random_,
            [this](size_t) { return ports_; });
    }

    // The server's answer to what the client has asked last; what it asks then.
    std::string answer(const http::Fields& fields = {},
                       std::string_view body = {},
                       int status = 200) {
        rtsp::Response response;
        response.cseq = ++cseq_;
        response.status = status;
        response.headers = fields;
        response.body = body;
        client_->output().clear();
        good_ = client_->feed(as_bytes(rtsp::write(response)), ns());
        return std::string(as_text(client_->output()));
    }

    void start(std::string_view transport = "RTP/AVP/TCP;unicast;interleaved=0-1") {
        make();
        answer();
        const std::string set_up = answer({}, kDescription);
        EXPECT_TRUE(set_up.starts_with("SETUP rtsp://server.example/live/x/trackID=0 ")) << set_up;
        answer({{"Session", "1;timeout=20"}, {"Transport", std::string(transport)}});
        ASSERT_TRUE(client_->is_set_up());
        answer();
        ASSERT_TRUE(client_->started());
    }

    std::vector<Bytes> frame(uint32_t sequence) {
        Stamp stamp;
        stamp.epoch = 1;
        stamp.sequence = sequence;
        stamp.place = static_cast<uint16_t>(sequence);
        stamp.send_ns = ns();
        Bytes body;
        build_video(body, 5000, stamp);
        Packets packets;
        packets.next = next_;
        packets.time = 4'294'960'000U + sequence * 3000;  // it wraps
        EXPECT_TRUE(packetizer_->packetize(ByteSpan(body).subspan(5), 1200, packets));
        next_ = packets.next;
        return packets.all;
    }

    bool interleaved(const Bytes& packet) {
        const auto header = rtsp::frame_header(0, static_cast<uint16_t>(packet.size()));
        Bytes all(header.begin(), header.end());
        all.insert(all.end(), packet.begin(), packet.end());
        return client_->feed(all, ns());
    }

    MonoTime now_{Seconds(1000)};
    test::CountingRandom random_;
    RtspPlayOptions options_;
    RunTotals totals_;
    PlayerCheck check_{totals_, 0};
    std::optional<rtsp::PortPair> ports_ = rtsp::PortPair{5000, 5001};
    std::unique_ptr<RtspPlayClient> client_;
    std::unique_ptr<rtp::Packetizer> packetizer_ = [] {
        auto packetizer = rtp::make_packetizer(media::Codec::kH264);
        packetizer->set_config(ByteSpan(video_config()).subspan(5));
        return packetizer;
    }();
    uint32_t cseq_ = 0;
    uint16_t next_ = 65'500;  // wraps soon
    bool good_ = true;
};

TEST_F(RtspPlayClientTest, FramesInInterleavedPacketsAreWhole) {
    start();
    for (uint32_t i = 0; i < 20; i++) {
        now_ += Millis(33);
        for (const Bytes& packet : frame(i)) {
            ASSERT_TRUE(interleaved(packet));
        }
    }
    client_->settle();
    EXPECT_EQ(check_.counts().video_frames, 20U);
    EXPECT_EQ(check_.counts().corrupted, 0U);
    EXPECT_EQ(check_.counts().unstamped, 0U);
    EXPECT_EQ(check_.lost(), 0U);
    EXPECT_EQ(check_.counts().time_steps_back, 0U);
    EXPECT_TRUE(totals_.rtsp.used);
    EXPECT_EQ(totals_.rtsp.lost, 0U);
    EXPECT_EQ(totals_.rtsp.packets, static_cast<uint16_t>(next_ - 65'500));
    EXPECT_EQ(totals_.rtsp.response.count(), 1U);
}

TEST_F(RtspPlayClientTest, AskForPortsAndTakesDatagrams) {
    options_.way = RtspWay::kUdp;
    make();
    answer();
    const std::string set_up = answer({}, kDescription);
    EXPECT_NE(set_up.find("Transport: RTP/AVP;unicast;client_port=5000-5001"), std::string::npos);
    answer({{"Session", "1"},
            {"Transport", "RTP/AVP;unicast;client_port=5000-5001;server_port=6000-6001"}});
    answer();
    size_t sent = 0;
    for (uint32_t i = 0; i < 50; i++) {
        now_ += Millis(33);
        for (const Bytes& packet : frame(i)) {
            if (sent++ % 50 != 10) {
                EXPECT_TRUE(client_->on_datagram(now_, 0, false, packet));
            }
        }
    }
    now_ += Seconds(1);
    client_->handle_timeout(now_);
    client_->settle();
    const RtspTotals& rtsp = totals_.rtsp;
    EXPECT_EQ(rtsp.packets + rtsp.lost, sent);
    EXPECT_EQ(rtsp.lost, (sent + 39) / 50);
    EXPECT_NEAR(rtsp.loss(), 0.02, 0.005);
    EXPECT_EQ(check_.counts().corrupted, 0U);
    EXPECT_GT(check_.lost(), 0U);
    std::array<uint8_t, 600> room;
    EXPECT_GT(client_->poll_report(now_, 0, room), 0U);
    EXPECT_EQ(client_->poll_report(now_, 0, room), 0U);
}

TEST_F(RtspPlayClientTest, BothJittersAreThoseOfTheTimesOfPackets) {
    start();
    for (uint32_t i = 0; i < 100; i++) {
        now_ += Micros(i % 2 == 0 ? 33'333 + 5'000 : 33'333 - 5'000);
        for (const Bytes& packet : frame(i)) {
            interleaved(packet);
        }
    }
    client_->settle();
    // Of the packets of a frame only the first one varies, by 5 ms.
    const double packets_per_frame = static_cast<double>(totals_.rtsp.packets) / 100;
    EXPECT_NEAR(totals_.rtsp.mean_variation_us(), 5'000 / packets_per_frame, 300);
    EXPECT_GT(totals_.rtsp.jitter.quantile(0.5), 200U);
    EXPECT_LT(totals_.rtsp.jitter.quantile(0.5), 5'500U);
}

TEST_F(RtspPlayClientTest, PausesAndGoesOnAndKeepsTheSessionAlive) {
    options_.pause_after = Millis(1'000);
    options_.pause_for = Millis(2'000);
    start();
    client_->output().clear();
    interleaved(frame(0)[0]);
    now_ += Millis(1'000);
    client_->handle_timeout(now_);
    EXPECT_TRUE(as_text(client_->output()).starts_with("PAUSE "));
    EXPECT_EQ(answer(), "");
    now_ += Millis(2'000);
    client_->handle_timeout(now_);
    EXPECT_TRUE(as_text(client_->output()).starts_with("PLAY "));
    answer();
    EXPECT_TRUE(client_->started());
    now_ += Seconds(10);
    client_->handle_timeout(now_);
    EXPECT_TRUE(as_text(client_->output()).starts_with("OPTIONS "));
    client_->output().clear();
    client_->leave();
    EXPECT_TRUE(as_text(client_->output()).starts_with("TEARDOWN "));
}

TEST_F(RtspPlayClientTest, SaysWhyItCannotPlay) {
    make();
    answer({}, {}, 200);
    answer({}, {}, 404);
    EXPECT_FALSE(good_);
    EXPECT_EQ(client_->failure(), "the server answers DESCRIBE with 404 Not Found");
    cseq_ = 0;
    make();
    answer();
    answer({}, "v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 theora/90000\r\n");
    EXPECT_FALSE(good_);
    EXPECT_EQ(client_->failure(), "there is no track to set up");
    cseq_ = 0;
    options_.way = RtspWay::kUdp;
    ports_.reset();
    make();
    answer();
    answer({}, kDescription);
    EXPECT_FALSE(good_);
    EXPECT_EQ(client_->failure(), "no pair of UDP ports is free");
}

}  // namespace
}  // namespace weir::load
