#include "app/processes/shared_listeners.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include "io/listening.h"

#include "test/support/io/loopback.h"

namespace weir::app {
namespace {

TEST(SharedListeners, EachProcessHasASocketOfItsOwnOnTheSamePort) {
    SharedListeners all;
    const Result<int> one = all.socket_for(0, "127.0.0.1:0");
    const Result<int> other = all.socket_for(1, "127.0.0.1:0");
    ASSERT_TRUE(one.ok() && other.ok());
    EXPECT_NE(*one, *other);
    EXPECT_EQ(io::local_address(*one).port(), io::local_address(*other).port());
    EXPECT_EQ(*all.socket_for(0, "127.0.0.1:0"), *one) << "it stays over restarts of the process";
}

TEST(SharedListeners, APortOfSomebodyElseIsBusyEvenIfItCouldBeShared) {
    const auto shared = io::SocketAddress::parse("127.0.0.1:0");
    const Result<io::OwnFd> stranger = io::open_listening(*shared, io::PortUse::kShared);
    ASSERT_TRUE(stranger.ok());
    SharedListeners all;
    const std::string address = io::local_address(stranger->get()).to_string();
    EXPECT_EQ(all.socket_for(0, address).error().code(), ErrorCode::kBusy);
}

TEST(SharedListeners, WhereAProcessListensNoMoreIsClosed) {
    SharedListeners all;
    const Result<int> one = all.socket_for(0, "127.0.0.1:0");
    ASSERT_TRUE(one.ok());
    const io::SocketAddress address = io::local_address(*one);
    all.keep(1, {});
    EXPECT_EQ(all.socket_for(0, "127.0.0.1:0").ok(), true);
    all.keep(0, {});
    EXPECT_TRUE(io::open_listening(address, io::PortUse::kAlone).ok());
}

TEST(SharedListeners, AUdpPortIsOfAllProcessesAndNotTheTcpPortOfThatNumber) {
    SharedListeners all;
    const Result<int> one = all.socket_for(0, "udp/127.0.0.1:0");
    const Result<int> other = all.socket_for(1, "udp/127.0.0.1:0");
    ASSERT_TRUE(one.ok() && other.ok());
    EXPECT_NE(*one, *other);
    const io::SocketAddress address = io::local_address(*one);
    EXPECT_EQ(address.to_string(), io::local_address(*other).to_string());
    const auto stranger = io::open_listening(address, io::PortUse::kShared);
    ASSERT_TRUE(stranger.ok());
    EXPECT_EQ(all.socket_for(0, address.to_string()).error().code(), ErrorCode::kBusy)
        << "somebody else has the TCP port, whoever has the one of UDP";
}

TEST(SharedListeners, NobodyElseHasTheUdpPortBefore) {
    const auto shared = io::SocketAddress::parse("127.0.0.1:0");
    const Result<io::OwnFd> stranger = io::open_datagrams(*shared, io::PortUse::kShared);
    ASSERT_TRUE(stranger.ok());
    SharedListeners all;
    const std::string address = "udp/" + io::local_address(stranger->get()).to_string();
    EXPECT_EQ(all.socket_for(0, address).error().code(), ErrorCode::kBusy);
}

TEST(SharedListeners, OfAProcessThatHasEndedUdpSocketsAreClosedAndListenersStay) {
    SharedListeners all;
    const Result<int> tcp = all.socket_for(0, "127.0.0.1:0");
    const Result<int> udp = all.socket_for(0, "udp/127.0.0.1:0");
    ASSERT_TRUE(tcp.ok() && udp.ok());
    const io::SocketAddress address = io::local_address(*udp);
    all.close_udp(1);
    EXPECT_FALSE(io::open_datagrams(address, io::PortUse::kAlone).ok());
    all.close_udp(0);
    EXPECT_TRUE(io::open_datagrams(address, io::PortUse::kAlone).ok());
    EXPECT_EQ(*all.socket_for(0, "127.0.0.1:0"), *tcp);
}

TEST(SharedListeners, AUdpPortThatAProcessStillUsesIsNotTheOneOfSomebodyElse) {
    SharedListeners all;
    const std::string address = [&all] {
        const Result<int> first = all.socket_for(0, "udp/127.0.0.1:0");
        return "udp/" + io::local_address(*first).to_string();
    }();
    const io::OwnFd of_process(::dup(*all.socket_for(0, "udp/127.0.0.1:0")));
    all.keep(0, {});
    EXPECT_TRUE(all.socket_for(1, address).ok()) << "its sessions are not over";
}

}  // namespace
}  // namespace weir::app
