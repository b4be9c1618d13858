#include "io/port_holder.h"

#include <memory>
#include <string>

#include <sys/prctl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/tcp.h"
#include "io/udp.h"

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

using testing::Not;
using testing::StartsWith;

std::string us() {
    return fmt::format("held by process {} (", getpid());
}

TEST(PortHolderTest, KnowsTheListenerOfATcpPort) {
    for (const char* address : {"127.0.0.1:0", "0.0.0.0:0", "[::]:0", "[::1]:0"}) {
        auto listener = TcpListener::listen(SocketAddress::parse(address).value());
        ASSERT_TRUE(listener.ok()) << address;
        const uint16_t port = (*listener)->local().port();
        EXPECT_THAT(describe_port_holder(PortKind::kTcp, port), StartsWith(us())) << address;
        listener->reset();
        EXPECT_THAT(describe_port_holder(PortKind::kTcp, port), Not(StartsWith(us()))) << address;
    }
}

// A client's port is in the same table, and does not keep anybody from listening.
TEST(PortHolderTest, AConnectionHoldsNoPort) {
    const LoopbackPair pair = loopback_pair();
    EXPECT_THAT(describe_port_holder(PortKind::kTcp, pair.client->local().port()),
                Not(StartsWith(us())));
}

TEST(PortHolderTest, TcpAndUdpPortsAreDifferentOnes) {
    auto udp = UdpSocket::bind(loopback(), {});
    ASSERT_TRUE(udp.ok());
    const uint16_t port = (*udp)->local().port();
    EXPECT_THAT(describe_port_holder(PortKind::kUdp, port), StartsWith(us()));
    auto tcp = TcpListener::listen(loopback(port));
    if (tcp.ok()) {  // else somebody has it, and not we
        udp->reset();
        EXPECT_THAT(describe_port_holder(PortKind::kUdp, port), Not(StartsWith(us())));
        EXPECT_THAT(describe_port_holder(PortKind::kTcp, port), StartsWith(us()));
    }
}

// A process may have any name, and the text goes to the log.
TEST(PortHolderTest, TheNameOfTheProcessIsEscaped) {
    char before[16] = "";
    ASSERT_EQ(prctl(PR_GET_NAME, before), 0);
    auto listener = TcpListener::listen(loopback());
    ASSERT_TRUE(listener.ok());
    ASSERT_EQ(prctl(PR_SET_NAME, "a\x1b[1m\xff"), 0);
    const std::string text = describe_port_holder(PortKind::kTcp, (*listener)->local().port());
    ASSERT_EQ(prctl(PR_SET_NAME, before), 0);
    EXPECT_THAT(text, StartsWith(us() + "a"));
    for (const char letter : text) {
        EXPECT_TRUE(letter >= ' ' && letter <= '~') << text;
    }
}

}  // namespace
}  // namespace weir::io
