#include "net/rtp/rtp_sealer.h"

#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "proto/rtp/header.h"
#include "stream/rtp_log.h"

#include "test/support/payloads.h"

namespace weir::net {
namespace {

constexpr RtpRunHeader kHeader{1, 96, 0x11223344, 90'000, 5};
constexpr size_t kPayload = 100;
constexpr size_t kPacket = kPayload + rtp::kFixedHeaderSize;

class RtpSealerTest : public testing::Test {
  protected:
    // A frame of so many payloads of 100 bytes, the last shorter.
    const stream::RtpRun& run_of(size_t packets, size_t last = kPayload) {
        log_.begin_frame({});
        for (size_t i = 0; i < packets; i++) {
            log_.add_packet({}, test::counted({}, i + 1 == packets ? last : kPayload,
                                              static_cast<uint32_t>(i)));
        }
        log_.end_frame();
        return *log_.run(log_.head() - 1);
    }

    // Empty when it gives nothing.
    std::vector<rtp::PacketView> seal(const RtpRunHeader& header,
                                      const stream::RtpRun& run,
                                      size_t room) {
        std::ranges::fill(out_, uint8_t{0xee});
        const RtpBurst burst = sealer_.seal(MonoTime(), header, run, std::span(out_).first(room));
        EXPECT_LE(burst.bytes, room);
        EXPECT_TRUE(std::ranges::all_of(std::span(out_).subspan(room), [](uint8_t byte) {
            return byte == 0xee;
        })) << "it wrote behind its room";
        std::vector<rtp::PacketView> packets;
        for (size_t at = 0; at < burst.bytes; at += burst.segment_bytes) {
            const size_t size = std::min(burst.segment_bytes, burst.bytes - at);
            const auto packet = rtp::PacketView::parse(ByteSpan(out_).subspan(at, size));
            EXPECT_TRUE(packet.has_value());
            if (packet) {
                packets.push_back(*packet);
            }
        }
        return packets;
    }

    stream::RtpLog log_;
    PlainRtpSealer sealer_;
    std::array<uint8_t, 8'192> out_{};
};

TEST_F(RtpSealerTest, PacketsOfARunStandEndToEndAndTheLastOneEndsTheFrame) {
    const stream::RtpRun& run = run_of(3, 7);
    const std::vector<rtp::PacketView> packets = seal(kHeader, run, out_.size());
    ASSERT_EQ(packets.size(), 3U);
    for (size_t i = 0; i < 3; i++) {
        EXPECT_EQ(packets[i].sequence(), 5 + i);
        EXPECT_EQ(packets[i].marker(), i == 2);
        EXPECT_EQ(packets[i].timestamp(), 90'000U);
        EXPECT_EQ(packets[i].ssrc(), 0x11223344U);
        EXPECT_EQ(packets[i].payload_type(), 96);
        EXPECT_TRUE(std::ranges::equal(packets[i].payload(), run.packet(i)));
    }
    EXPECT_EQ(packets[2].payload().size(), 7U);
}

// The kernel cuts the burst into datagrams: half a packet at the end would go out as one.
TEST_F(RtpSealerTest, ARunThatDoesNotFitGivesNothing) {
    const stream::RtpRun& run = run_of(3);
    EXPECT_EQ(seal(kHeader, run, 3 * kPacket).size(), 3U);
    for (const size_t room :
         {size_t{0}, size_t{1}, rtp::kFixedHeaderSize, kPacket, 2 * kPacket, 3 * kPacket - 1}) {
        EXPECT_TRUE(seal(kHeader, run, room).empty()) << room;
    }
}

TEST_F(RtpSealerTest, NumbersGoOnBehindTheWrapOfSixteenBits) {
    RtpRunHeader header = kHeader;
    header.number = 65'535;
    const std::vector<rtp::PacketView> packets = seal(header, run_of(3), out_.size());
    ASSERT_EQ(packets.size(), 3U);
    EXPECT_EQ(packets[0].sequence(), 65'535);
    EXPECT_EQ(packets[1].sequence(), 0);
    EXPECT_EQ(packets[2].sequence(), 1);
}

TEST_F(RtpSealerTest, AFrameOfSeveralRunsHasOneMarker) {
    run_of(stream::RtpRun::kMaxPackets + 1, 9);
    ASSERT_EQ(log_.head(), 2U);
    for (const rtp::PacketView& packet : seal(kHeader, *log_.run(0), out_.size())) {
        EXPECT_FALSE(packet.marker()) << packet.sequence();
    }
    const std::vector<rtp::PacketView> last = seal(kHeader, *log_.run(1), out_.size());
    ASSERT_EQ(last.size(), 1U);
    EXPECT_TRUE(last[0].marker());
}

}  // namespace
}  // namespace weir::net
