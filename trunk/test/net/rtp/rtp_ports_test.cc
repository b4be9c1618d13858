#include "net/rtp/rtp_ports.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test/support/io/loopback.h"

namespace weir::net {
namespace {

struct Owner final : RtpPortsOwner {
    void on_datagram(size_t track, bool rtcp, ByteSpan bytes, const NetAddress& from) override {
        got.push_back(fmt::format("{} {} {}", track, rtcp ? "rtcp" : "rtp", as_text(bytes)));
        last = from;
    }

    void on_more_datagrams() override { told++; }

    std::vector<std::string> got;
    NetAddress last;
    size_t told = 0;
};

const NetAddress kLocal = *NetAddress::parse_ip("127.0.0.1", 0);

TEST(RtpPortsTest, HasNeighboursWithAnEvenPortFirst) {
    Owner owner;
    std::vector<std::unique_ptr<RtpPorts>> many;
    for (int i = 0; i < 50; i++) {
        auto made = RtpPorts::bind(kLocal, 0, owner);
        ASSERT_TRUE(made.ok()) << made.error().to_string();
        EXPECT_EQ((*made)->ports().rtp % 2, 0);
        EXPECT_EQ((*made)->ports().rtcp, (*made)->ports().rtp + 1);
        many.push_back(std::move(*made));
    }
}

TEST(RtpPortsTest, TellsWhatCameAndAlsoWhatCameBefore) {
    Owner owner;
    Owner other;
    auto ports = RtpPorts::bind(kLocal, 3, owner).value();
    auto peer = RtpPorts::bind(kLocal, 0, other).value();
    const rtsp::PortPair to = ports->ports();
    peer->send(false, kLocal.with_port(to.rtp), as_bytes("early"));
    ports->listen();
    EXPECT_TRUE(io::eventually([&] { return owner.got.size() == 1; }));
    peer->send(true, kLocal.with_port(to.rtcp), as_bytes("report"));
    EXPECT_TRUE(io::eventually([&] { return owner.got.size() == 2; }));
    EXPECT_EQ(owner.got, (std::vector<std::string>{"3 rtp early", "3 rtcp report"}));
    EXPECT_EQ(owner.last, kLocal.with_port(peer->ports().rtcp));
}

TEST(RtpPortsTest, LeavesWhatIsTooMuchForATurnToItsOwner) {
    Owner owner;
    Owner other;
    auto ports = RtpPorts::bind(kLocal, 0, owner).value();
    auto peer = RtpPorts::bind(kLocal, 0, other).value();
    constexpr size_t kMany = RtpPorts::kBatchesPerTurn * io::UdpSocket::kBatch + 5;
    for (size_t i = 0; i < kMany; i++) {
        peer->send(false, kLocal.with_port(ports->ports().rtp), as_bytes("x"));
    }
    ports->listen();
    EXPECT_EQ(owner.got.size(), kMany - 5);
    EXPECT_EQ(owner.told, 1U);
    while (ports->read_more()) {
    }
    EXPECT_EQ(owner.got.size(), kMany);
}

TEST(RtpPortsTest, JoinsAGroupOfWhichTwoTracksHaveOnePort) {
    Owner owner;
    const NetAddress group = *NetAddress::parse_ip("239.255.77.2", 0);
    const rtsp::PortPair free = RtpPorts::bind(kLocal, 0, owner).value()->ports();
    auto one = RtpPorts::join(group, free, kLocal, {}, 0, owner);
    ASSERT_TRUE(one.ok()) << one.error().to_string();
    auto two = RtpPorts::join(group, free, kLocal, kLocal, 1, owner);
    EXPECT_TRUE(two.ok()) << two.error().to_string();
    const auto wrong = RtpPorts::join(kLocal, free, kLocal, {}, 0, owner);
    EXPECT_FALSE(wrong.ok());
}

}  // namespace
}  // namespace weir::net
