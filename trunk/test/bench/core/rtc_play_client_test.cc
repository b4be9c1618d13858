#include "bench/load/core/rtc_play_client.h"

#include <gtest/gtest.h>

#include "proto/rtcp/feedback.h"
#include "proto/rtp/packetizer.h"
#include "proto/rtp/rtx.h"

#include "bench/load/core/synthetic.h"
#include "test/proto/webrtc/server_end.h"

namespace weir::load {
namespace {

constexpr uint32_t kSsrc = 7001;
constexpr uint32_t kRtxSsrc = 7002;
constexpr uint8_t kType = 96;
constexpr uint8_t kRtxType = 97;

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
    uint16_t next = 100;
    uint32_t time = 0;
};

class RtcPlayClientTest : public testing::Test {
  protected:
    RtcPlayClientTest() {
        totals_.stall_ns = 1'000'000'000;
        check_.joined(ns());
        server_.expect_client(webrtc::test_identity(1).fingerprint());
    }

    uint64_t ns() const { return static_cast<uint64_t>(now_.time_since_epoch().count()) * 1000; }

    std::string answer() const {
        return server_.answer(fmt::format(
            "m=video 9 UDP/TLS/RTP/SAVPF {0} {1}\r\na=mid:1\r\na=sendonly\r\na=rtcp-mux\r\n"
            "a=rtpmap:{0} H264/90000\r\na=fmtp:{0} packetization-mode=1\r\na=rtcp-fb:{0} nack\r\n"
            "a=rtpmap:{1} rtx/90000\r\na=fmtp:{1} apt={0}\r\na=ssrc-group:FID {2} {3}\r\n"
            "a=ssrc:{2} cname:x\r\na=ssrc:{3} cname:x\r\n"
            "a=candidate:1 1 udp 2130706431 192.0.2.1 8000 typ host\r\n",
            kType, kRtxType, kSsrc, kRtxSsrc));
    }

    void begin() {
        const Error error = client_.take_answer(answer(), true);
        ASSERT_FALSE(error) << error.message();
        client_.begin(now_, now_);
    }

    // Carries datagrams both ways until both are silent.
    void exchange() {
        do {
            server_.serve(now_);
            deliver();
        } while (!server_.from_client.empty());
    }

    void deliver() {
        for (; !server_.to_client.empty(); server_.to_client.pop_front()) {
            check_.received(server_.to_client.front().size(), ns());
            client_.handle_packet(now_, server_.to_client.front(), webrtc::ServerEnd::address());
        }
    }

    void connect() {
        begin();
        exchange();
        ASSERT_TRUE(client_.connected()) << client_.failure().message();
    }

    // The packets of one frame of the synthetic stream.
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
        packets.time = sequence * 3000;
        EXPECT_TRUE(packetizer_->packetize(ByteSpan(body).subspan(5), 1200, packets));
        next_ = packets.next;
        return packets.all;
    }

    void give(const Bytes& packet) {
        server_.give_protected(packet, rtp::sequence_of(packet.data()));
    }

    void pass(Micros time) {
        const MonoTime end = now_ + time;
        while (now_ < end) {
            now_ = std::min(end, std::max(now_ + Micros(100), client_.next_timeout()));
            client_.handle_timeout(now_);
            exchange();
        }
    }

    MonoTime now_{Seconds(1000)};
    webrtc::CountingRandom random_;
    srtp::ControlCipher control_;
    webrtc::ClientShared shared_{webrtc::test_identity(1), control_, random_};
    webrtc::ServerEnd server_{now_};
    RunTotals totals_;
    PlayerCheck check_{totals_, 0};
    RtcPlayOptions options_;
    RtcPlayClient client_{shared_, server_, totals_.rtc, check_, options_, Seconds(10)};
    std::unique_ptr<rtp::Packetizer> packetizer_ = [] {
        auto packetizer = rtp::make_packetizer(media::Codec::kH264);
        packetizer->set_config(ByteSpan(video_config()).subspan(5));
        return packetizer;
    }();
    uint16_t next_ = 100;
};

TEST_F(RtcPlayClientTest, FramesArriveAsTheyWereSent) {
    connect();
    EXPECT_EQ(totals_.rtc.ice.count(), 1U);
    EXPECT_EQ(totals_.rtc.dtls.count(), 1U);
    for (uint32_t i = 0; i < 10; i++) {
        for (const Bytes& packet : frame(i)) {
            give(packet);
        }
        deliver();
        pass(Millis(33));
    }
    client_.settle();
    EXPECT_EQ(check_.counts().video_frames, 10U);
    EXPECT_TRUE(check_.has_key());
    EXPECT_EQ(check_.counts().corrupted, 0U);
    EXPECT_EQ(check_.counts().unstamped, 0U);
    EXPECT_EQ(check_.lost(), 0U);
    EXPECT_GT(totals_.rtc.packets, 40U);
    EXPECT_EQ(totals_.rtc.lost, 0U);
    EXPECT_EQ(totals_.rtc.freezes, 0U);
}

TEST_F(RtcPlayClientTest, AMissingPacketIsAskedForAndTakenFromRtx) {
    connect();
    std::vector<Bytes> packets = frame(0);
    ASSERT_GT(packets.size(), 3U);
    const Bytes missing = packets[2];
    packets.erase(packets.begin() + 2);
    for (const Bytes& packet : packets) {
        give(packet);
    }
    deliver();
    server_.media.clear();
    pass(Millis(30));
    bool asked = false;
    for (const Bytes& compound : server_.media) {
        rtcp::PacketView packet;
        for (rtcp::CompoundReader reader(compound); reader.next(packet);) {
            if (const auto nack = rtcp::parse_nack(packet)) {
                nack->for_each_lost([&](uint16_t sequence) {
                    asked = asked || sequence == rtp::sequence_of(missing.data());
                });
            }
        }
    }
    EXPECT_TRUE(asked);
    EXPECT_EQ(check_.counts().video_frames, 0U);
    Bytes rtx(missing.size() + rtp::kRtxOverhead);
    ASSERT_GT(rtp::wrap_rtx(missing, {kRtxType, false, 0, 0, kRtxSsrc}, rtx), 0U);
    server_.give_protected(rtx, 0);
    deliver();
    client_.settle();
    EXPECT_EQ(check_.counts().video_frames, 1U);
    EXPECT_EQ(totals_.rtc.recovered, 1U);
    EXPECT_EQ(totals_.rtc.lost, 0U);
    EXPECT_GT(totals_.rtc.loss_before(), 0.0);
    EXPECT_EQ(totals_.rtc.loss_after(), 0.0);
}

TEST_F(RtcPlayClientTest, WhatNeverComesIsLostAndAKeyFrameIsAskedFor) {
    connect();
    std::vector<Bytes> packets = frame(0);
    packets.erase(packets.begin() + 2);
    for (const Bytes& packet : packets) {
        give(packet);
    }
    deliver();
    server_.media.clear();
    pass(Millis(1500));
    client_.settle();
    EXPECT_EQ(totals_.rtc.lost, 1U);
    EXPECT_GT(totals_.rtc.key_requests, 0U);
    EXPECT_EQ(check_.counts().video_frames, 0U);
}

TEST_F(RtcPlayClientTest, APictureThatStandsStillIsAFreeze) {
    connect();
    for (uint32_t i = 0; i < 40; i++) {
        for (const Bytes& packet : frame(i)) {
            give(packet);
        }
        deliver();
        pass(i == 30 ? Millis(500) : Millis(33));
    }
    EXPECT_EQ(totals_.rtc.freezes, 1U);
    EXPECT_GE(totals_.rtc.frozen_us, 500'000U);
}

TEST_F(RtcPlayClientTest, AServerThatDoesNotAnswerIsGivenUp) {
    begin();
    while (!client_.over() && now_ < MonoTime(Seconds(1020))) {
        now_ = client_.next_timeout();
        client_.handle_timeout(now_);
    }
    EXPECT_EQ(client_.failure().message(), "no answer to ICE checks from udp 192.0.2.1:8000");
    EXPECT_GT(server_.from_client.size(), 5U);
    EXPECT_LT(server_.from_client.size(), 20U);
}

TEST_F(RtcPlayClientTest, ConsentIsAskedForAndItsEndIsNoticed) {
    connect();
    pass(Seconds(60));
    EXPECT_FALSE(client_.over());
    EXPECT_GE(totals_.rtc.rtt.count(), 10U);
    while (!client_.over() && now_ < MonoTime(Seconds(1200))) {
        now_ = client_.next_timeout();
        client_.handle_timeout(now_);
    }
    EXPECT_EQ(client_.failure().message(), "the server answers no ICE checks any more");
}

TEST_F(RtcPlayClientTest, DroppedPacketsAreCounted) {
    options_.drop = 1;
    connect();
    for (const Bytes& packet : frame(0)) {
        give(packet);
    }
    deliver();
    EXPECT_GT(totals_.rtc.dropped, 3U);
    EXPECT_EQ(check_.counts().video_frames, 0U);
}

TEST_F(RtcPlayClientTest, ForgedPacketsChangeNothing) {
    connect();
    std::vector<Bytes> packets = frame(0);
    for (Bytes& packet : packets) {
        packet.resize(packet.size() + 16);
        server_.to_client.push_back(packet);
    }
    deliver();
    EXPECT_EQ(totals_.rtc.refused, packets.size());
    EXPECT_EQ(check_.counts().video_frames, 0U);
}

}  // namespace
}  // namespace weir::load
