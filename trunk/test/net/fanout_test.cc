// Fanout with pumps of the test's own: which there are, whom they belong to, how they go.
#include "net/fanout.h"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "io/coroutine.h"
#include "net/client.h"
#include "net/play_rules.h"
#include "stream/registry.h"
#include "stream/stream.h"
#include "stream/stream_key.h"

#include "test/net/pump_fixture.h"
#include "test/support/io/loopback.h"

namespace weir::net {
namespace {

// Holds its stream as a player would, until it is let go or interrupted.
class FakePump final : public StreamPump {
  public:
    struct State {
        int running = 0;
        int gone = 0;
        io::Signal leave;
    };

    FakePump(State& state, stream::Stream& of) : state_(state), stream_(of) {
        stream_.attach(muxer_);
    }

    FakePump(const FakePump&) = delete;
    FakePump& operator=(const FakePump&) = delete;

    ~FakePump() override {
        stream_.detach(muxer_);
        state_.gone++;
    }

    void run() override {
        state_.running++;
        (void)state_.leave.wait_until(io::soon());
        state_.running--;
    }

    size_t players() const override { return 3; }

    std::span<const TransportCount> by_transport() const override { return counts_; }

    void reconfigure(const PumpOptions& options) override { stall = options.write_stall; }

    stream::Stream& stream() override { return stream_; }

    Millis stall{0};

  private:
    struct Nothing final : stream::Muxer {
        void on_packet(const media::PacketRef&, const stream::Configs*) override {}
    };

    State& state_;
    stream::Stream& stream_;
    Nothing muxer_;
    std::array<TransportCount, 2> counts_{{{"one", 1}, {"two", 2}}};
};

constexpr int kOne = 1;
constexpr int kTwo = 2;
constexpr PumpKind kFirst{&kOne, "first"};
constexpr PumpKind kSecond{&kTwo, "second"};

class FanoutTest : public testing::Test {
  protected:
    ~FanoutTest() override {
        fanout_.stop(io::soon());
        EXPECT_EQ(fanout_.pumps(), 0U);
        EXPECT_EQ(registry_.size(), 0U);
    }

    static stream::StreamKey key(std::string name) { return {"v", "live", std::move(name)}; }

    Result<StreamPump*> pump(const std::string& name, const PumpKind& kind) {
        return fanout_.pump_for(key(name), {}, kind, [this](stream::Stream& of) {
            made_++;
            return std::make_unique<FakePump>(state_, of);
        });
    }

    stream::Registry registry_;
    Fanout fanout_{registry_};
    FakePump::State state_;
    int made_ = 0;
};

TEST_F(FanoutTest, AStreamHasOnePumpOfEachKind) {
    StreamPump* const first = pump("a", kFirst).value();
    EXPECT_EQ(pump("a", kFirst).value(), first);
    EXPECT_NE(pump("a", kSecond).value(), first);
    EXPECT_NE(pump("b", kFirst).value(), first);
    EXPECT_EQ(made_, 3);
    EXPECT_EQ(fanout_.pumps(), 3U);
    const stream::Stream& a = *registry_.find(key("a"));
    EXPECT_EQ(fanout_.find(a, kFirst), first);
    EXPECT_EQ(fanout_.find(*registry_.find(key("b")), kSecond), nullptr);
    int of_kind = 0;
    fanout_.for_each(kFirst, [&](StreamPump&) { of_kind++; });
    EXPECT_EQ(of_kind, 2);
}

TEST_F(FanoutTest, PlayersOfAStreamAreThoseOfAllItsPumpsAndOfNoOther) {
    ASSERT_TRUE(pump("a", kFirst).ok() && pump("a", kSecond).ok() && pump("b", kFirst).ok());
    EXPECT_EQ(fanout_.players(*registry_.find(key("a"))), 6U);
    EXPECT_EQ(fanout_.players(*registry_.find(key("b"))), 3U);
    std::map<std::string, size_t> by_transport;
    fanout_.for_each_transport(*registry_.find(key("a")), [&](const TransportCount& count) {
        by_transport[count.transport] += count.players;
    });
    EXPECT_EQ(by_transport, (std::map<std::string, size_t>{{"one", 2}, {"two", 4}}));
    stream::Stream& unplayed = registry_.get_or_create(key("c"), {}, MonoClock::now());
    EXPECT_EQ(fanout_.players(unplayed), 0U);
    registry_.release(unplayed);
}

TEST_F(FanoutTest, APumpThatHasEndedTakesItsStreamAlongAndTheNextIsANewOne) {
    ASSERT_TRUE(pump("a", kFirst).ok());
    ASSERT_TRUE(io::eventually([&] { return state_.running == 1; }));
    state_.leave.notify_all();
    ASSERT_TRUE(io::eventually([&] { return fanout_.pumps() == 0; }));
    EXPECT_EQ(state_.gone, 1);
    EXPECT_EQ(registry_.size(), 0U);
    ASSERT_TRUE(pump("a", kFirst).ok());
    EXPECT_EQ(made_, 2);
}

TEST_F(FanoutTest, AReloadAsksForEachPumpAndLeavesThoseWithoutAnAnswer) {
    auto& a = static_cast<FakePump&>(*pump("a", kFirst).value());
    auto& again = static_cast<FakePump&>(*pump("a", kSecond).value());
    auto& b = static_cast<FakePump&>(*pump("b", kFirst).value());
    fanout_.reconfigure([](const stream::StreamKey& asked) -> std::optional<PumpOptions> {
        PumpOptions options;
        options.write_stall = Millis(7);
        return asked.name == "a" ? std::optional(options) : std::nullopt;
    });
    EXPECT_EQ(a.stall, Millis(7));
    EXPECT_EQ(again.stall, Millis(7));
    EXPECT_EQ(b.stall, Millis(0));
}

TEST_F(FanoutTest, WhileItStopsNobodyGetsAPump) {
    ASSERT_TRUE(pump("a", kFirst).ok());
    fanout_.stop(io::soon());
    EXPECT_EQ(state_.gone, 1);
    const Result<StreamPump*> late = pump("a", kFirst);
    ASSERT_FALSE(late.ok());
    EXPECT_EQ(late.error().code(), ErrorCode::kInterrupted);
    EXPECT_EQ(made_, 1);
    EXPECT_EQ(registry_.size(), 0U) << "no stream is left behind by it";
    fanout_.stop(io::soon());
}

// ---- with real players ----

TEST_F(PumpTest, WhoComesWhileTheServerStopsIsLetGoWithALine) {
    static std::vector<std::string> lines;
    lines.clear();
    fanout_.stop(io::soon());
    log::set_sink([](log::Level, std::string_view line) { lines.emplace_back(line); });
    Peer& peer = join();
    EXPECT_TRUE(peer.read_to_end());
    EXPECT_EQ(peer.told->starts, 0);
    EXPECT_EQ(clients_.size(), 0U) << "its row is gone";
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_NE(lines[0].find("stopping"), std::string::npos) << lines[0];
}

TEST_F(PumpTest, PlayersOfTwoFormatsOfAStreamHaveAPumpEach) {
    const RecordFormat other;
    publish();
    gop(1);
    Peer& first = join();
    auto near = io::TcpStream::connect(listener_->local(), io::soon());
    auto far = listener_->accept(io::soon());
    ASSERT_TRUE(near.ok() && far.ok());
    auto told = std::make_shared<Told>();
    auto client = std::make_unique<Client>(clients_, "second", "127.0.0.1");
    client->key = key_;
    fanout_.play(rules_, other, std::move(*far),
                 std::make_unique<RecordProtocol>(told, false, true), std::move(client));
    peers_.push_back(std::make_unique<Peer>(std::move(*near), told, false));
    EXPECT_EQ(fanout_.pumps(), 2U);
    EXPECT_EQ(fanout_.players(*stream_), 2U);
    std::map<std::string, size_t> by_transport;
    fanout_.for_each_transport(*stream_, [&](const TransportCount& count) {
        by_transport[count.transport] += count.players;
    });
    EXPECT_EQ(by_transport, (std::map<std::string, size_t>{{"second", 1}, {"test", 1}}));
    const uint32_t newest = frame(false);
    EXPECT_TRUE(first.read_to(newest));
    EXPECT_TRUE(peers_.back()->read_to(newest));
    peers_.back()->close();
    EXPECT_TRUE(eventually([&] { return fanout_.pumps() == 1; })) << "without players it goes";
    EXPECT_TRUE(first.read_to(frame(false)));
}

TEST_F(PumpTest, TheStreamOfAWaitingPlayerGoesWithIt) {
    Peer& peer = join();
    EXPECT_EQ(registry_.size(), 1U);
    EXPECT_EQ(fanout_.pumps(), 1U);
    peer.close();
    EXPECT_TRUE(eventually([&] { return fanout_.pumps() == 0; }));
    EXPECT_EQ(registry_.size(), 0U);
    EXPECT_EQ(peer.told->reason, EndReason::kPeerClosed);
    EXPECT_FALSE(peer.told->ended_started);
}

}  // namespace
}  // namespace weir::net
