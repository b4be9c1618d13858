#include "bench/load/core/rtc_publish_client.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "proto/rtcp/writer.h"
#include "proto/rtp/depacketizer.h"
#include "proto/rtp/rtx.h"

#include "bench/load/core/synthetic.h"
#include "test/proto/webrtc/server_end.h"

namespace weir::load {
namespace {

constexpr uint8_t kType = 96;
constexpr uint8_t kRtxType = 97;

class RtcPublishClientTest : public testing::Test {
  protected:
    RtcPublishClientTest() {
        server_.expect_client(webrtc::test_identity(1).fingerprint());
        std::vector<SourceMessage> opening;
        opening.push_back({media::TrackKind::kVideo, 0, video_config()});
        opening.push_back({media::TrackKind::kAudio, 0, audio_config()});
        client_ =
            *RtcPublishClient::create(shared_, server_, totals_, stats_, opening, Seconds(10));
    }

    void exchange() {
        do {
            server_.serve(now_);
            for (; !server_.to_client.empty(); server_.to_client.pop_front()) {
                client_->handle_packet(now_, server_.to_client.front(),
                                       webrtc::ServerEnd::address());
            }
        } while (!server_.from_client.empty());
    }

    void connect() {
        const std::string answer = server_.answer(fmt::format(
            "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\na=recvonly\r\na=rtcp-mux\r\n"
            "a=rtpmap:111 opus/48000/2\r\n"
            "a=candidate:1 1 udp 2130706431 192.0.2.1 8000 typ host\r\n"
            "m=video 9 UDP/TLS/RTP/SAVPF {0} {1}\r\na=mid:1\r\na=recvonly\r\na=rtcp-mux\r\n"
            "a=rtpmap:{0} H264/90000\r\na=rtcp-fb:{0} nack\r\na=rtpmap:{1} rtx/90000\r\n"
            "a=fmtp:{1} apt={0}\r\n",
            kType, kRtxType));
        const Error error = client_->take_answer(answer, false);
        ASSERT_FALSE(error) << error.message();
        client_->begin(now_, now_);
        exchange();
        ASSERT_TRUE(client_->connected()) << client_->failure().message();
        server_.media.clear();
    }

    // Sends one frame of the synthetic stream; its tag body.
    Bytes send_frame(uint32_t sequence) {
        Stamp stamp;
        stamp.sequence = sequence;
        stamp.place = static_cast<uint16_t>(sequence);
        SourceMessage message{media::TrackKind::kVideo, sequence * 33, {}};
        build_video(message.body, 6000, stamp);
        client_->send(now_, message);
        exchange();
        return message.body;
    }

    std::vector<Bytes> packets(uint8_t type) const {
        std::vector<Bytes> out;
        for (const Bytes& each : server_.media) {
            const auto view = rtp::PacketView::parse(each);
            if (view && view->payload_type() == type) {
                out.push_back(each);
            }
        }
        return out;
    }

    void ask_again(uint16_t sequence, uint32_t ssrc) {
        Bytes buffer(200);
        rtcp::CompoundWriter writer(buffer);
        writer.nack({1, ssrc}, {&sequence, 1});
        Bytes packet(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(writer.size()));
        packet.resize(writer.size() + srtp::kMaxOverhead);
        packet.resize(server_.protector->protect_rtcp(packet, writer.size()));
        server_.to_client.push_back(packet);
        exchange();
    }

    MonoTime now_{Seconds(1000)};
    webrtc::CountingRandom random_;
    srtp::ControlCipher control_;
    webrtc::ClientShared shared_{webrtc::test_identity(1), control_, random_};
    webrtc::ServerEnd server_{now_};
    RtcTotals totals_;
    RtcPublishStats stats_;
    std::unique_ptr<RtcPublishClient> client_;
};

TEST_F(RtcPublishClientTest, AFrameArrivesWhole) {
    connect();
    const Bytes sent = send_frame(0);
    const auto depacketizer = rtp::make_depacketizer(media::Codec::kH264);
    for (const Bytes& packet : packets(kType)) {
        const auto view = *rtp::PacketView::parse(packet);
        depacketizer->feed(view.payload(), {view.timestamp(), view.marker(), false});
    }
    rtp::Frame frame;
    ASSERT_TRUE(depacketizer->next(frame));
    EXPECT_TRUE(frame.key);
    EXPECT_FALSE(frame.config.empty());
    EXPECT_EQ(frame.data, Bytes(sent.begin() + 5, sent.end()));
    EXPECT_EQ(stats_.packets, packets(kType).size());
}

TEST_F(RtcPublishClientTest, SoundThatWebRtcDoesNotHaveBecomesSilence) {
    connect();
    for (int i = 0; i < 10; i++) {
        client_->handle_timeout(now_);
        now_ += Millis(20);
    }
    exchange();
    const std::vector<Bytes> sound = packets(111);
    ASSERT_EQ(sound.size(), 10U);
    EXPECT_EQ(rtp::PacketView::parse(sound[3])->timestamp() -
                  rtp::PacketView::parse(sound[2])->timestamp(),
              960U);
}

TEST_F(RtcPublishClientTest, WhatIsAskedForComesByRtx) {
    connect();
    send_frame(0);
    const std::vector<Bytes> sent = packets(kType);
    ASSERT_GT(sent.size(), 3U);
    const auto wanted = *rtp::PacketView::parse(sent[2]);
    ask_again(wanted.sequence(), wanted.ssrc());
    const std::vector<Bytes> again = packets(kRtxType);
    ASSERT_EQ(again.size(), 1U);
    const auto rtx = *rtp::PacketView::parse(again[0]);
    EXPECT_EQ(rtp::rtx_original_sequence(rtx), wanted.sequence());
    EXPECT_TRUE(std::ranges::equal(rtx.payload().subspan(2), wanted.payload()));
    EXPECT_EQ(stats_.retransmitted, 1U);
}

TEST_F(RtcPublishClientTest, WhatIsLongGoneIsCounted) {
    connect();
    send_frame(0);
    const auto first = *rtp::PacketView::parse(packets(kType)[0]);
    const uint16_t sequence = first.sequence();
    const uint32_t ssrc = first.ssrc();
    for (uint32_t i = 1; i < 80; i++) {
        send_frame(i);
    }
    ask_again(sequence, ssrc);
    ask_again(static_cast<uint16_t>(sequence - 5), ssrc);  // never sent
    EXPECT_EQ(stats_.too_late, 1U);
    EXPECT_EQ(stats_.retransmitted, 0U);
}

TEST_F(RtcPublishClientTest, ACodecThatWebRtcDoesNotHaveIsRefused) {
    const Bytes vp6 = {0x14, 0, 0, 0};
    std::vector<SourceMessage> opening;
    opening.push_back({media::TrackKind::kVideo, 0, vp6});
    EXPECT_FALSE(
        RtcPublishClient::create(shared_, server_, totals_, stats_, opening, Seconds(10)).ok());
}

}  // namespace
}  // namespace weir::load
