#include <gtest/gtest.h>

#include "base/clock.h"
#include "io/runtime.h"
#include "io/tcp.h"

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

constexpr int kReads = 20;
constexpr size_t kReadBytes = 1000;

// Reads that never have to wait, each followed by as much work; how often somebody else ran
// meanwhile.
int turns_of_others(Millis work) {
    LoopbackPair pair = loopback_pair();
    EXPECT_FALSE(pair.client->write_all(Bytes(kReads * kReadBytes), soon()));
    EXPECT_FALSE(sleep_for(Millis(20)));  // all of it is in the socket now
    bool done = false;
    int turns = 0;
    Coroutine other = go([&] {
        while (!done) {
            turns++;
            yield();
        }
    });
    yield();
    const int before = turns;
    Bytes buffer(kReadBytes);
    for (int i = 0; i < kReads; i++) {
        EXPECT_TRUE(pair.server->read_some(buffer, soon()).ok());
        for (const MonoTime end = MonoClock::now() + work; MonoClock::now() < end;) {
        }
    }
    const int others = turns - before;
    done = true;
    other.join();
    return others;
}

TEST(IoSliceTest, ReadsWithMuchWorkBetweenThemLetOthersRun) {
    EXPECT_GE(turns_of_others(Millis(2)), kReads / 2);
}

TEST(IoSliceTest, CheapReadsAreNotInterruptedEachTime) {
    EXPECT_LE(turns_of_others(Millis(0)), kReads / 2);
}

}  // namespace
}  // namespace weir::io
