#include "io/lobby.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/object_count.h"
#include "io/deadline.h"

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

uint64_t live(const char* name) {
    return find_object_class(name)->live();
}

class LobbyTest : public testing::Test {
  protected:
    ~LobbyTest() override {
        lobby_.dismiss();
        EXPECT_FALSE(group_.join_all(soon()));
        EXPECT_EQ(lobby_.size(), 0U);
    }

    // A connection whose body reads what there is and tells it. Gives the peer.
    std::unique_ptr<TcpStream> let_wait(std::string name, MonoTime until) {
        return let_wait(std::move(name), until, loopback_pair());
    }

    // Does not yield.
    std::unique_ptr<TcpStream> let_wait(std::string name, MonoTime until, LoopbackPair pair) {
        const std::shared_ptr<TcpStream> stream = std::move(pair.server);
        lobby_.wait(*stream, until, [this, stream, name] {
            std::array<uint8_t, 64> bytes{};
            const auto got = stream->read_some(bytes, Deadline::after(Millis(0)));
            told_.push_back(name + ": " +
                            (got.ok() ? std::string(as_text({bytes.data(), *got}))
                                      : std::string(to_string(got.error().code()))));
            changed_.notify_all();
        });
        return std::move(pair.client);
    }

    // What the bodies told, once there are so many.
    std::vector<std::string> told(size_t count) {
        while (told_.size() < count) {
            if (changed_.wait_until(soon())) {
                break;
            }
        }
        return told_;
    }

    const MonoTime late_ = MonoClock::now() + Seconds(600);
    TaskGroup group_;
    Lobby lobby_{"guest", group_};
    std::vector<std::string> told_;
    Signal changed_;
};

TEST_F(LobbyTest, WhoSaysNothingHasNoCoroutine) {
    const uint64_t before = live("coroutine");
    const auto first = let_wait("first", late_);
    const auto second = let_wait("second", late_);
    const auto third = let_wait("third", late_);
    EXPECT_FALSE(third->write_all(as_bytes("x"), soon()));
    EXPECT_EQ(told(1).size(), 1U);  // the reactor has had what there was of the others by then
    EXPECT_FALSE(group_.join_all(soon()));
    EXPECT_EQ(lobby_.size(), 2U);
    EXPECT_EQ(group_.size(), 0U);
    EXPECT_EQ(live("coroutine"), before + 1);  // the lobby's clock
    EXPECT_EQ(live("silent_connection"), 2U);
}

TEST_F(LobbyTest, TheFirstByteLetsInAndIsUnread) {
    const auto quiet = let_wait("quiet", late_);
    const auto client = let_wait("client", late_);
    EXPECT_FALSE(client->write_all(as_bytes("hello"), soon()));
    EXPECT_EQ(told(1), std::vector<std::string>{"client: hello"});
    EXPECT_EQ(lobby_.size(), 1U);
}

TEST_F(LobbyTest, BytesThatCameBeforeLetIn) {
    auto [client, server] = loopback_pair();
    EXPECT_FALSE(client->write_all(as_bytes("early"), soon()));
    const std::shared_ptr<TcpStream> stream = std::move(server);
    bool in = false;
    lobby_.wait(*stream, late_, [&, stream] {
        in = true;
        changed_.notify_all();
    });
    EXPECT_FALSE(changed_.wait_until(soon()));
    EXPECT_TRUE(in);
}

TEST_F(LobbyTest, ThePeersEndLetsIn) {
    auto client = let_wait("client", late_);
    client.reset();
    EXPECT_EQ(told(1), std::vector<std::string>{"client: closed"});
}

TEST_F(LobbyTest, TimeLetsInWhoIsDueFirstInWhateverOrderTheyCame) {
    // Made before, so that none is due before all wait.
    std::array<LoopbackPair, 3> pairs = {loopback_pair(), loopback_pair(), loopback_pair()};
    const MonoTime now = MonoClock::now();
    const auto last = let_wait("last", now + Millis(60), std::move(pairs[0]));
    const auto never = let_wait("never", late_, std::move(pairs[1]));
    const auto first = let_wait("first", now + Millis(20), std::move(pairs[2]));
    EXPECT_EQ(told(2), (std::vector<std::string>{"first: timeout", "last: timeout"}));
    EXPECT_GE(MonoClock::now() - now, Millis(60));
    EXPECT_EQ(lobby_.size(), 1U);
}

TEST_F(LobbyTest, ManyWhoAreDueAtOnceAllGetIn) {
    constexpr size_t kMany = 3 * Lobby::kTimeoutsPerTurn + 1;
    const MonoTime soon_due = MonoClock::now() + Millis(20);
    std::vector<std::unique_ptr<TcpStream>> clients;
    for (size_t i = 0; i < kMany; i++) {
        clients.push_back(let_wait("x", soon_due));
    }
    EXPECT_EQ(told(kMany).size(), kMany);
    EXPECT_EQ(lobby_.size(), 0U);
}

TEST_F(LobbyTest, WorksAgainAfterItWasEmpty) {
    const auto first = let_wait("first", MonoClock::now());
    EXPECT_EQ(told(1).size(), 1U);
    const auto second = let_wait("second", MonoClock::now() + Millis(10));
    EXPECT_EQ(told(2).back(), "second: timeout");
}

TEST_F(LobbyTest, WhoIsDismissedIsClosedAndNobodyWaitsAfterThat) {
    const uint64_t before = live("tcp_connection");
    auto client = let_wait("client", late_);
    EXPECT_EQ(live("tcp_connection"), before + 2);
    lobby_.dismiss();
    EXPECT_EQ(live("tcp_connection"), before + 1);
    std::array<uint8_t, 1> byte{};
    EXPECT_EQ(client->read_some(byte, soon()).error().code(), ErrorCode::kClosed);
    client = let_wait("client", late_);
    EXPECT_EQ(lobby_.size(), 0U);
    EXPECT_EQ(live("tcp_connection"), before + 1);
    EXPECT_TRUE(told_.empty());
}

}  // namespace
}  // namespace weir::io
