#include "bench/load/core/rtsp_publish_client.h"

#include <map>

#include <gtest/gtest.h>

#include "proto/rtp/depacketizer.h"
#include "proto/rtp/header.h"
#include "proto/sdp/rtsp_track.h"

#include "bench/load/core/bitrate_plan.h"
#include "test/support/counting_random.h"

namespace weir::load {
namespace {

// What the other side of the conversation hears and says.
class RtspPublishClientTest : public testing::Test {
  protected:
    void make(RtspPublishSockets sockets = {}) {
        client_ = RtspPublishClient::create(
                      rtsp::Url::parse("rtsp://user:pass@server.example/live/x").value(),
                      source_->opening(), random_, std::move(sockets))
                      .value();
        hear();
    }

    // Takes what the client has sent: requests_ and packets_.
    void hear() {
        const std::string sent = client_->take_output();
        ByteSpan bytes = as_bytes(sent);
        for (;;) {
            switch (reader_.next(bytes)) {
                case rtsp::ConnectionReader::Status::kNeedMore: return;
                case rtsp::ConnectionReader::Status::kRequest:
                    requests_.push_back(std::move(reader_.request()));
                    break;
                case rtsp::ConnectionReader::Status::kFrame: {
                    const ByteSpan packet = reader_.frame().payload;
                    packets_[reader_.frame().channel].emplace_back(packet.begin(), packet.end());
                    break;
                }
                default: FAIL() << "no request and no frame";
            }
        }
    }

    Error answer(const http::Fields& fields = {}, int status = 200) {
        rtsp::Response response;
        response.cseq = requests_.back().cseq;
        response.status = status;
        response.headers = fields;
        Error error = client_->feed(now_, as_bytes(rtsp::write(response)));
        hear();
        return error;
    }

    // Up to RECORD, which is answered.
    void start(const std::vector<std::string>& transports) {
        ASSERT_FALSE(answer());  // OPTIONS
        ASSERT_FALSE(answer());  // ANNOUNCE
        for (const std::string& transport : transports) {
            ASSERT_EQ(requests_.back().method, rtsp::Method::kSetup);
            ASSERT_FALSE(answer({{"Session", "77"}, {"Transport", transport}}));
        }
        ASSERT_EQ(requests_.back().method, rtsp::Method::kRecord);
        EXPECT_FALSE(client_->started());
        ASSERT_FALSE(answer({{"Session", "77"}}));
        EXPECT_TRUE(client_->started());
    }

    // Frames of so many milliseconds; their number by kind.
    std::map<media::TrackKind, size_t> send(uint64_t ms) {
        std::map<media::TrackKind, size_t> sent;
        SourceMessage frame;
        while (source_->next_due_us() < ms * 1000) {
            EXPECT_FALSE(source_->next(1, frame));
            client_->send(now_, frame);
            sent[frame.kind]++;
        }
        hear();
        return sent;
    }

    MonoTime now_{Seconds(1000)};
    test::CountingRandom random_;
    BitratePlan plan_ = BitratePlan::create({.bits_per_second = 1'000'000, .fps = 25}).value();
    std::unique_ptr<FrameSource> source_ = synthetic_source(plan_, 3, 9);
    std::unique_ptr<RtspPublishClient> client_;
    rtsp::ConnectionReader reader_;
    std::vector<rtsp::Request> requests_;
    std::map<uint8_t, std::vector<Bytes>> packets_;  // by channel
};

TEST_F(RtspPublishClientTest, AnnouncesWhatTheSourceSends) {
    make();
    ASSERT_FALSE(answer());
    ASSERT_EQ(requests_.back().method, rtsp::Method::kAnnounce);
    EXPECT_EQ(requests_.back().url, "rtsp://server.example/live/x");
    const auto description = sdp::RtspDescription::parse(requests_.back().body);
    ASSERT_TRUE(description.ok());
    ASSERT_EQ(description->tracks.size(), 2U);
    EXPECT_EQ(description->tracks[0].codec, media::Codec::kH264);
    EXPECT_FALSE(description->tracks[0].parameter_sets.empty());
    EXPECT_EQ(description->tracks[1].codec, media::Codec::kAac);
    EXPECT_EQ(description->tracks[1].clock_hz, kAudioRate);
}

TEST_F(RtspPublishClientTest, SendsFramesOnTheChannelsThatWereAgreedOn) {
    make();
    EXPECT_TRUE(send(40).empty() || packets_.empty()) << "nothing before RECORD";
    start({"RTP/AVP/TCP;unicast;interleaved=4-5;mode=record",
           "RTP/AVP/TCP;unicast;interleaved=8-9;mode=record"});
    const auto sent = send(2'000);
    EXPECT_EQ(packets_.size(), 4U) << "two tracks and their reports";
    EXPECT_EQ(packets_[5].size(), 1U);
    EXPECT_EQ(packets_[9].size(), 1U);
    size_t frames = 0;
    std::optional<uint16_t> last;
    for (const Bytes& packet : packets_[4]) {
        const auto view = rtp::PacketView::parse(packet);
        ASSERT_TRUE(view);
        EXPECT_EQ(
            view->sequence(),
            static_cast<uint16_t>(last.value_or(static_cast<uint16_t>(view->sequence() - 1)) + 1));
        EXPECT_LE(view->payload().size(), RtspFrameCutter::kMaxPayload);
        last = view->sequence();
        frames += view->marker() ? 1U : 0U;
    }
    EXPECT_EQ(frames, sent.at(media::TrackKind::kVideo));
    EXPECT_EQ(packets_[8].size(), sent.at(media::TrackKind::kAudio)) << "one packet per frame";
}

TEST_F(RtspPublishClientTest, ReportsComeEveryFewSeconds) {
    make();
    start({"RTP/AVP/TCP;interleaved=0-1", "RTP/AVP/TCP;interleaved=2-3"});
    send(1'000);
    now_ += RtspFrameCutter::kReportInterval - Micros(1);
    send(1'100);
    EXPECT_EQ(packets_[1].size(), 1U);
    now_ += Micros(1);
    send(1'200);
    EXPECT_EQ(packets_[1].size(), 2U);
}

TEST_F(RtspPublishClientTest, ByUdpPacketsGoToThePortsOfTheServer) {
    std::map<uint16_t, size_t> datagrams;
    make({.bind = [](size_t track) -> std::optional<rtsp::PortPair> {
              const auto port = static_cast<uint16_t>(7000 + 2 * track);
              return rtsp::PortPair{port, static_cast<uint16_t>(port + 1)};
          },
          .send = [&](size_t, bool, uint16_t port, ByteSpan) { datagrams[port]++; }});
    ASSERT_FALSE(answer());
    ASSERT_FALSE(answer());
    EXPECT_EQ(requests_.back().headers.get("Transport"),
              "RTP/AVP;unicast;client_port=7000-7001;mode=record");
    ASSERT_FALSE(
        answer({{"Session", "77"},
                {"Transport", "RTP/AVP;unicast;client_port=7000-7001;server_port=8000-8001"}}));
    ASSERT_FALSE(
        answer({{"Session", "77"},
                {"Transport", "RTP/AVP;unicast;client_port=7002-7003;server_port=8000-8001"}}));
    ASSERT_FALSE(answer({{"Session", "77"}}));
    const auto sent = send(500);
    EXPECT_TRUE(packets_.empty());
    EXPECT_EQ(datagrams[8001], 2U);
    EXPECT_GT(datagrams[8000],
              sent.at(media::TrackKind::kVideo) + sent.at(media::TrackKind::kAudio));
}

TEST_F(RtspPublishClientTest, AServerWithoutPortsIsNoneToPublishToByUdp) {
    make({.bind = [](size_t) { return std::optional(rtsp::PortPair{7000, 7001}); },
          .send = [](size_t, bool, uint16_t, ByteSpan) { FAIL(); }});
    ASSERT_FALSE(answer());
    ASSERT_FALSE(answer());
    for (int i = 0; i < 2; i++) {
        ASSERT_FALSE(
            answer({{"Session", "77"}, {"Transport", "RTP/AVP;unicast;client_port=7000-7001"}}));
    }
    const Error error = answer({{"Session", "77"}});
    EXPECT_EQ(error.code(), ErrorCode::kMalformed);
}

TEST_F(RtspPublishClientTest, WithoutPortsNothingIsAnnounced) {
    const auto made = RtspPublishClient::create(
        rtsp::Url::parse("rtsp://server.example/live/x").value(), source_->opening(), random_,
        {.bind = [](size_t) { return std::optional<rtsp::PortPair>(); }, .send = {}});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code(), ErrorCode::kBusy);
}

TEST_F(RtspPublishClientTest, ARefusalIsAnError) {
    make();
    ASSERT_FALSE(answer());
    const Error error = answer({}, 403);
    EXPECT_EQ(error.code(), ErrorCode::kDenied);
    EXPECT_EQ(error.message().find("pass"), std::string::npos) << error.message();
}

TEST_F(RtspPublishClientTest, LeavesWithATeardown) {
    make();
    start({"RTP/AVP/TCP;interleaved=0-1", "RTP/AVP/TCP;interleaved=2-3"});
    client_->leave();
    hear();
    EXPECT_EQ(requests_.back().method, rtsp::Method::kTeardown);
}

TEST_F(RtspPublishClientTest, ASourceWithoutMediaIsRefused) {
    const auto made = RtspPublishClient::create(
        rtsp::Url::parse("rtsp://server.example/live/x").value(), {}, random_);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace weir::load
