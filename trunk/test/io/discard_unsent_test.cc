#include "io/discard_unsent.h"

#include <cerrno>

#include <sys/socket.h>

#include <gtest/gtest.h>

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

// What the peer gets when the other end is closed: 0 is an end, else an error of the system.
int end_at_peer(bool discards) {
    LoopbackPair pair = loopback_pair();
    if (discards) {
        discard_unsent(*pair.client);
    }
    pair.client->close();
    EXPECT_FALSE(pair.server->wait_readable(soon()));
    uint8_t byte = 0;
    return ::recv(pair.server->fd(), &byte, 1, MSG_DONTWAIT) == 0 ? 0 : errno;
}

TEST(DiscardUnsentTest, TheConnectionIsResetWhenItIsClosed) {
    EXPECT_EQ(end_at_peer(true), ECONNRESET);
    EXPECT_EQ(end_at_peer(false), 0);
}

TEST(DiscardUnsentTest, AClosedStreamIsLeftAlone) {
    const LoopbackPair pair = loopback_pair();
    pair.client->close();
    discard_unsent(*pair.client);
}

}  // namespace
}  // namespace weir::io
