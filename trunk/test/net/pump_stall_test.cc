// Players that take nothing.
#include <optional>

#include <netinet/tcp.h>

#include <gtest/gtest.h>

#include "io/deadline.h"
#include "net/client.h"
#include "net/pump.h"
#include "stream/stream_key.h"

#include "test/net/pump_fixture.h"

namespace weir::net {
namespace {

TEST_F(PumpTest, ASocketThatTakesNothingIsClosed) {
    use_small_buffers();
    rules_.pump.write_stall = Millis(500);
    publish();
    gop(1);
    Peer& reading = join();
    Peer& stalled = join();
    ASSERT_TRUE(eventually([&] {
        // Never much at once: it must not look stalled when this process stands still.
        EXPECT_TRUE(reading.read_to(frame(false, 1000)));
        return stalled.told->ended;
    }));
    EXPECT_EQ(stalled.told->reason, EndReason::kWriteStalled);
    EXPECT_EQ(fanout_.stats().stalled, 1U);
    ASSERT_TRUE(reading.read_to(gop(2)));
    EXPECT_FALSE(reading.told->ended);
}

// The send buffer takes all that this stream has: that nothing arrives is known to the kernel
// alone.
TEST_F(PumpTest, APeerThatTakesNothingOfAThinStreamHasStalledToo) {
    rules_.pump.write_stall = Millis(500);
    use_thin_stream();
    gop(1);
    Peer& reading = join();
    for (int i = 0; i < 80; i++) {  // never much at once, as above
        ASSERT_TRUE(reading.read_to(frame(false, 5000)));
    }
    Peer& stalled = join();
    ASSERT_TRUE(eventually([&] {
        EXPECT_TRUE(reading.read_to(frame(false)));
        return stalled.told->ended;
    }));
    EXPECT_EQ(fanout_.stats().blocked, 0U) << "a send buffer was full: nothing shown here";
    EXPECT_EQ(stalled.told->reason, EndReason::kWriteStalled);
    EXPECT_EQ(fanout_.stats().stalled, 1U);
    EXPECT_EQ(clients_.ended(ClientRole::kPlayer, EndClass::kStalled), 1U);
    ASSERT_TRUE(reading.read_to(gop(2)));
    EXPECT_FALSE(reading.told->ended);
}

// The same when a write hears of it before any event.
TEST_F(PumpTest, AWriteThatFindsThePeerStalledSaysSo) {
    rules_.pump.write_stall = Millis(200);
    Peer& stalled = join_thin_stream();
    ASSERT_TRUE(eventually([&] { return fanout_.stats().written_bytes >= 80 * 5000; }));
    // Nobody else has a turn until the kernel has given up.
    const io::Deadline deadline = io::soon();
    tcp_info info{};
    do {
        socklen_t size = sizeof info;
        ASSERT_EQ(getsockopt(joined_fd_, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
    } while (info.tcpi_state != TCP_CLOSE && !deadline.passed());
    frame(false);  // is written before the reactor looks at sockets
    EXPECT_TRUE(eventually([&] { return stalled.told->ended; }));
    EXPECT_EQ(stalled.told->reason, EndReason::kWriteStalled);
    EXPECT_EQ(fanout_.stats().stalled, 1U);
}

TEST_F(PumpTest, NewRulesHoldForThePlayersOfARunningPump) {
    use_small_buffers();
    publish();
    gop(300, 5000);
    Peer& stalled = join();
    ASSERT_TRUE(eventually([&] { return all_are_full(); }));
    PumpOptions shorter = rules_.pump;
    shorter.write_stall = Millis(500);
    fanout_.reconfigure([&](const stream::StreamKey& key) -> std::optional<PumpOptions> {
        return key == key_ ? std::optional(shorter) : std::nullopt;
    });
    EXPECT_TRUE(eventually([&] { return stalled.told->ended; }));
    EXPECT_EQ(stalled.told->reason, EndReason::kWriteStalled);
}

TEST_F(PumpTest, ANewTimeToStallHoldsInTheKernelToo) {
    Peer& stalled = join_thin_stream();
    PumpOptions shorter = rules_.pump;
    shorter.write_stall = Millis(500);
    fanout_.reconfigure([&](const stream::StreamKey&) { return std::optional(shorter); });
    EXPECT_TRUE(eventually([&] { return stalled.told->ended; }));
    EXPECT_EQ(fanout_.stats().blocked, 0U);
    EXPECT_EQ(stalled.told->reason, EndReason::kWriteStalled);
}

}  // namespace
}  // namespace weir::net
