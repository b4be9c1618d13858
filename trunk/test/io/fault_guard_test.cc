#include "io/fault_guard.h"

#include <signal.h>

#include <gtest/gtest.h>

namespace weir::io {
namespace {

int& reached() {
    static int last = 0;
    return last;
}

TEST(FaultGuardTest, AStepThatEndsIsNotLeft) {
    reached() = 0;
    EXPECT_TRUE(run_guarded([] { reached() = 1; }));
    EXPECT_EQ(reached(), 1);
    leave_guarded();  // no step runs: nothing happens
    EXPECT_EQ(fault_guard().armed, 0);
}

TEST(FaultGuardTest, AStepThatIsLeftEndsThereAndTheNextOneRuns) {
    reached() = 0;
    EXPECT_FALSE(run_guarded([] {
        reached() = 1;
        leave_guarded();
        reached() = 2;
    }));
    EXPECT_EQ(reached(), 1);
    EXPECT_EQ(fault_guard().armed, 0);
    EXPECT_TRUE(run_guarded([] { reached() = 3; }));
    EXPECT_EQ(reached(), 3);
}

// The handler of a fault runs with its signal blocked; a jump out of it has to undo that, or the
// second fault of a report kills the process without a word.
TEST(FaultGuardTest, AStepLeftByAHandlerMayBeFollowedByAnother) {
    struct sigaction leave {};

    struct sigaction before {};

    leave.sa_handler = [](int) { leave_guarded(); };
    ASSERT_EQ(sigaction(SIGUSR1, &leave, &before), 0);
    for (int round = 0; round < 3; round++) {
        reached() = round;
        EXPECT_FALSE(run_guarded([] {
            raise(SIGUSR1);
            reached() = -1;
        }));
        EXPECT_EQ(reached(), round);
        sigset_t blocked;
        ASSERT_EQ(sigprocmask(SIG_BLOCK, nullptr, &blocked), 0);
        EXPECT_EQ(sigismember(&blocked, SIGUSR1), 0);
    }
    ASSERT_EQ(sigaction(SIGUSR1, &before, nullptr), 0);
}

}  // namespace
}  // namespace weir::io
