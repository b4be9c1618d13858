#include "session/rtsp/rtsp_srtp.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "proto/rtp/header.h"

#include "test/support/counting_random.h"

namespace weir::session {
namespace {

constexpr size_t kHeader = 12;

// A run of whole packets, as the log of RTSP has them.
stream::RtpRun run_of(uint64_t first_packet, uint16_t packets, size_t packet_bytes = 100) {
    stream::RtpRun run;
    run.track = 1;
    run.packets = packets;
    run.packet_bytes = static_cast<uint16_t>(packet_bytes);
    run.size_bytes = static_cast<uint32_t>(packets * packet_bytes);
    run.first_packet = first_packet;
    run.data = std::make_unique<uint8_t[]>(run.size_bytes);
    for (size_t i = 0; i < packets; i++) {
        uint8_t* const at = run.data.get() + i * packet_bytes;
        rtp::write_header({96, false, static_cast<uint16_t>(first_packet + i), 1234, 0xABCD}, at);
        for (size_t byte = kHeader; byte < packet_bytes; byte++) {
            at[byte] = static_cast<uint8_t>(first_packet + i + byte);
        }
    }
    return run;
}

class RtspSrtpTest : public testing::Test {
  protected:
    RtspSrtpTest() {
        auto made = RtspSrtpReceiver::create(key_, control_);
        EXPECT_TRUE(made.ok());
        receiver_ = std::move(*made);
    }

    // Each packet of it, opened.
    std::vector<Bytes> opened(const stream::RtpRun& run) {
        const RtspSrtpSender::Sealed sealed = sender_.seal(run);
        Bytes all(sealed.bytes.begin(), sealed.bytes.end());
        std::vector<Bytes> packets;
        for (ByteSpan rest = all; !rest.empty();) {
            const ByteSpan packet = rest.first(std::min(sealed.packet_bytes, rest.size()));
            const ByteSpan plain = receiver_->open_rtp(packet);
            packets.emplace_back(plain.begin(), plain.end());
            rest = rest.subspan(packet.size());
        }
        return packets;
    }

    srtp::ControlCipher control_;
    test::CountingRandom random_;
    RtspSrtpKey key_ = make_rtsp_srtp_key(random_);
    RtspSrtpSender sender_{key_, {}, control_, random_};
    std::unique_ptr<RtspSrtpReceiver> receiver_;
};

TEST_F(RtspSrtpTest, SealsARunWithNumbersOfItsOwn) {
    uint16_t next = sender_.first_sequence(1);
    EXPECT_FALSE(sender_.begun());
    for (const uint64_t first : {70'000U, 70'003U}) {
        const stream::RtpRun run = run_of(first, 3);
        const std::vector<Bytes> packets = opened(run);
        ASSERT_EQ(packets.size(), 3U);
        for (size_t i = 0; i < packets.size(); i++) {
            ASSERT_EQ(packets[i].size(), 100U);
            const auto packet = rtp::PacketView::parse(packets[i]);
            EXPECT_EQ(packet->sequence(), next++);
            EXPECT_EQ(packet->ssrc(), 0xABCDU);
            EXPECT_TRUE(std::ranges::equal(packet->payload(), run.packet(i).subspan(kHeader)));
        }
    }
    EXPECT_TRUE(sender_.begun());
}

TEST_F(RtspSrtpTest, GivesAPacketTheSameBytesWheneverItIsSealed) {
    const stream::RtpRun run = run_of(5, 2);
    const RtspSrtpSender::Sealed first = sender_.seal(run);
    const Bytes before(first.bytes.begin(), first.bytes.end());
    (void)sender_.seal(run_of(7, 2));
    const RtspSrtpSender::Sealed again = sender_.seal(run);
    EXPECT_TRUE(std::ranges::equal(before, again.bytes));
    EXPECT_TRUE(sender_.seal(run_of(4, 1)).bytes.empty()) << "older than its first";
}

TEST_F(RtspSrtpTest, SealsTheLargestRun) {
    const stream::RtpRun run = run_of(0, 44, 1432);
    EXPECT_EQ(sender_.seal(run).bytes.size(), 44U * 1442);
    const stream::RtpRun many = run_of(44, stream::RtpRun::kMaxPackets, 1333);
    EXPECT_EQ(sender_.seal(many).bytes.size(), stream::RtpRun::kMaxPackets * 1343U);
}

TEST_F(RtspSrtpTest, OpensReportsInBothDirections) {
    Bytes report = {0x80, 201, 0, 1, 1, 2, 3, 4};
    const Bytes plain = report;
    report.resize(64);
    report.resize(receiver_->seal_rtcp(report, plain.size()));
    EXPECT_TRUE(std::ranges::equal(sender_.open_rtcp(0, report), plain));
    EXPECT_TRUE(sender_.open_rtcp(0, report).empty()) << "it came before";
    EXPECT_TRUE(sender_.open_rtcp(0, plain).empty()) << "not sealed";
    EXPECT_TRUE(receiver_->open_rtp(Bytes(70'000)).empty());
    EXPECT_TRUE(receiver_->open_rtcp({}).empty());
}

TEST_F(RtspSrtpTest, ReportsOfATrackMayHaveAKeyOfTheirOwn) {
    const RtspSrtpKey own = make_rtsp_srtp_key(random_);
    RtspSrtpSender sender(key_, {own, std::nullopt}, control_, random_);
    auto under_own = RtspSrtpReceiver::create(own, control_);
    ASSERT_TRUE(under_own.ok());
    const Bytes plain = {0x80, 201, 0, 1, 1, 2, 3, 4};
    const auto sealed = [&](RtspSrtpReceiver& by) {
        Bytes report = plain;
        report.resize(64);
        report.resize(by.seal_rtcp(report, plain.size()));
        return report;
    };
    EXPECT_TRUE(std::ranges::equal(sender.open_rtcp(0, sealed(**under_own)), plain));
    EXPECT_TRUE(std::ranges::equal(sender.open_rtcp(1, sealed(*receiver_)), plain));
    EXPECT_TRUE(sender.open_rtcp(0, sealed(*receiver_)).empty());
}

TEST(RtspSrtpKeyTest, IsWrittenAndFoundAgain) {
    test::CountingRandom random;
    const RtspSrtpKey key = make_rtsp_srtp_key(random);
    sdp::CryptoLine line = rtsp_crypto_line(key);
    EXPECT_EQ(line.suite, "AES_CM_128_HMAC_SHA1_80");
    sdp::CryptoLine other = line;
    other.suite = "AEAD_AES_256_GCM";
    sdp::CryptoLine numbered = line;
    numbered.has_mki = true;
    EXPECT_FALSE(find_rtsp_srtp_key({other, numbered}));
    const auto found = find_rtsp_srtp_key({other, numbered, line});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->master, key.master);
    line.suite = "AES_CM_128_HMAC_SHA1_32";
    EXPECT_EQ(find_rtsp_srtp_key({line})->profile, srtp::Profile::kAes128CmSha1_32);
}

}  // namespace
}  // namespace weir::session
