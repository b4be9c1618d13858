#include "app/processes/shared_listeners.h"

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

}  // namespace
}  // namespace weir::app
