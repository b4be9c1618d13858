#include "net/client_table.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "net/client_probe.h"
#include "net/link_facts.h"
#include "net/merge_window.h"

namespace weir::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> ids(const ClientTable& table) {
    std::vector<std::string> list;
    table.for_each([&](const Client& client) { list.emplace_back(client.id()); });
    return list;
}

TEST(ClientTableTest, ListsWhoIsThereInOrderOfArrival) {
    ClientTable table;
    auto a = std::make_unique<Client>(table, "rtmp", "192.0.2.1");
    auto b = std::make_unique<Client>(table, "flv", "192.0.2.2");
    auto c = std::make_unique<Client>(table, "ws-flv", "192.0.2.3");
    const std::string ida(a->id());
    const std::string idb(b->id());
    const std::string idc(c->id());
    EXPECT_EQ(ida.size(), 8U);
    EXPECT_EQ(ida[0], 'r');
    EXPECT_EQ(idc[0], 'w');
    EXPECT_THAT(ids(table), ElementsAre(ida, idb, idc));
    b.reset();
    EXPECT_THAT(ids(table), ElementsAre(ida, idc));
    EXPECT_EQ(table.find(ida), a.get());
    EXPECT_EQ(table.find(idb), nullptr);
    a.reset();
    c.reset();
    EXPECT_EQ(table.size(), 0U);
    EXPECT_EQ(table.total(), 3U);
}

TEST(ClientTableTest, KnowsTheRatesOfThreeWindows) {
    ClientTable table;
    MonoTime now = MonoClock::now();
    Client client(table, "rtmp", "192.0.2.1");
    for (int i = 0; i < 60; i++) {
        now += Seconds(1);
        client.sent_bytes += i < 40 ? 16'000 : 32'000;
        client.received_bytes += 1'600;
        table.sample(now);
    }
    const BitRates sent = client.send_rates(now);
    EXPECT_NEAR(static_cast<double>(sent[0]), 256'000, 1'000);
    EXPECT_NEAR(static_cast<double>(sent[1]), 256'000, 1'000);
    EXPECT_NEAR(static_cast<double>(sent[2]), (20 * 256'000 + 11 * 128'000) / 31.0, 9'000);
    EXPECT_NEAR(static_cast<double>(client.receive_rates(now)[2]), 12'800, 500);
}

TEST(ClientTableTest, NotesWhenAClientWasActiveLast) {
    ClientTable table;
    Client client(table, "rtmp", "192.0.2.1");
    const MonoTime begin = client.active_at();
    client.sent_bytes = 1;
    table.sample(begin + Seconds(1));
    EXPECT_EQ(client.active_at(), begin + Seconds(1));
    table.sample(begin + Seconds(2));
    EXPECT_EQ(client.active_at(), begin + Seconds(1)) << "nothing moved";
    client.received_bytes = 1;
    table.sample(begin + Seconds(3));
    EXPECT_EQ(client.active_at(), begin + Seconds(3));
}

class LaggingProbe final : public ClientProbe {
  public:
    explicit LaggingProbe(int64_t lag_ms) : lag_ms_(lag_ms) {}

    std::optional<LagFacts> lag_facts() const override { return LagFacts{"flowing", lag_ms_, 0}; }

  private:
    int64_t lag_ms_;
};

TEST(ClientTableTest, CountsPlayersByTheirLagEverySecond) {
    ClientTable table;
    Client quick(table, "rtmp", "192.0.2.1");
    Client slow(table, "rtmp", "192.0.2.2");
    Client far(table, "rtmp", "192.0.2.3");
    Client source(table, "rtmp", "192.0.2.4");
    const LaggingProbe none(50);
    const LaggingProbe some(501);
    const LaggingProbe much(1'000'000);
    for (auto [client, probe] :
         {std::pair{&quick, &none}, {&slow, &some}, {&far, &much}, {&source, &much}}) {
        client->role = ClientRole::kPlayer;
        client->probe = probe;
    }
    source.role = ClientRole::kPublisher;
    const MonoTime now = MonoClock::now();
    table.sample(now + Seconds(1));
    table.sample(now + Seconds(2));
    const LagHistogram& lags = table.lags();
    EXPECT_EQ(lags.counts[0], 2U) << "at most 50 ms";
    EXPECT_EQ(lags.counts[4], 2U) << "over 500 ms, at most a second";
    EXPECT_EQ(lags.counts.back(), 2U);
    EXPECT_EQ(lags.sum_ms, 2U * (50 + 501 + 1'000'000));
}

TEST(ClientTableTest, AWalkSurvivesWhoGoesMeanwhile) {
    ClientTable table;
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 5; i++) {
        clients.push_back(std::make_unique<Client>(table, "rtmp", "192.0.2.1"));
    }
    ClientWalk walk(table);
    EXPECT_EQ(walk.next(), clients[0].get());
    clients[0].reset();  // the one it gave
    clients[1].reset();  // the one that would be next
    clients[2].reset();  // and that
    {
        ClientWalk other(table);
        EXPECT_EQ(other.next(), clients[3].get());
    }
    EXPECT_EQ(walk.next(), clients[3].get());
    auto late = std::make_unique<Client>(table, "rtmp", "192.0.2.1");
    EXPECT_EQ(walk.next(), clients[4].get());
    EXPECT_EQ(walk.next(), late.get());
    late.reset();
    EXPECT_EQ(walk.next(), nullptr);
    EXPECT_EQ(walk.next(), nullptr);
}

// Ten thousand: what a tick costs is printed, and bounded generously.
TEST(ClientTableTest, ASampleOfManyClientsIsQuick) {
    ClientTable table;
    std::vector<std::unique_ptr<Client>> clients;
    constexpr size_t kClients = 10'000;
    for (size_t i = 0; i < kClients; i++) {
        clients.push_back(std::make_unique<Client>(table, "rtmp", "192.0.2.1"));
    }
    const MonoTime begin = MonoClock::now();
    Micros took = Seconds(1'000);  // the quickest tick: a machine may stop any of them
    for (int i = 1; i <= 10; i++) {
        const MonoTime tick = MonoClock::now();
        table.sample(begin + Seconds(i));
        took = std::min(took, MonoClock::now() - tick);
    }
    RecordProperty("ns_per_client", static_cast<int>(took.count() * 1000 / int64_t{kClients}));
    EXPECT_LT(took, Millis(100));
}

TEST(ClientTest, GivesItsPlaceBack) {
    ClientTable table;
    ConnectionBudget budget(1);
    ASSERT_TRUE(budget.take());
    {
        Client client(table, "rtmp", "192.0.2.1");
        client.hold(budget);
        EXPECT_FALSE(budget.take());
        EXPECT_EQ(budget.refused(), 1U);
    }
    EXPECT_EQ(budget.used(), 0U);
    EXPECT_TRUE(budget.take());
}

TEST(ClientTest, LeavesOneLineWithEverything) {
    static std::string line;
    log::set_sink([](log::Level, std::string_view text) { line = text; });
    ClientTable table;
    Client client(table, "rtmp", "192.0.2.1");
    client.role = ClientRole::kPlayer;
    client.key = {std::string(stream::kDefaultVhost), "live", "a\nb"};
    client.sent_bytes = 12345;
    client.resyncs = 2;
    client.log_summary(EndClass::kPeerClosed, "closed by \"them\"");
    log::set_sink(nullptr);
    for (const std::string& part :
         {std::string(client.id()), std::string("role=player"), std::string("ip=192.0.2.1"),
          std::string("stream=/live/a\\x0ab"), std::string("bytes=12345"), std::string("resyncs=2"),
          std::string("reason=peer_closed"), std::string("detail=\"closed by \\\"them\\\"\"")}) {
        EXPECT_THAT(line, HasSubstr(part));
    }
}

TEST(ClientTest, ItsEndIsCounted) {
    log::set_sink([](log::Level, std::string_view) {});
    ClientTable table;
    Client player(table, "rtmp", "192.0.2.1");
    player.role = ClientRole::kPlayer;
    player.log_summary(EndClass::kKicked, "kicked by the API");
    Client nobody(table, "rtmp", "192.0.2.2");
    nobody.count_end(EndClass::kTimeout);
    log::set_sink(nullptr);
    EXPECT_EQ(table.ended(ClientRole::kPlayer, EndClass::kKicked), 1U);
    EXPECT_EQ(table.ended(ClientRole::kConnecting, EndClass::kTimeout), 1U);
    EXPECT_EQ(table.ended(ClientRole::kPlayer, EndClass::kTimeout), 0U);
}

TEST(ClientTest, EveryErrorHasAReason) {
    EXPECT_EQ(end_class(ErrorCode::kClosed), EndClass::kPeerClosed);
    EXPECT_EQ(end_class(ErrorCode::kTimeout), EndClass::kTimeout);
    EXPECT_EQ(end_class(ErrorCode::kInterrupted), EndClass::kStopping);
    EXPECT_EQ(end_class(ErrorCode::kDenied), EndClass::kRefused);
    EXPECT_EQ(end_class(ErrorCode::kMalformed), EndClass::kError);
    for (size_t why = 0; why < kEndClasses; why++) {
        EXPECT_FALSE(to_string(static_cast<EndClass>(why)).empty());
    }
}

TEST(MergeWindowTest, WidensWhileTheThreadIsBusyAndNarrowsWhenItIsIdle) {
    MergeWindow window;
    EXPECT_EQ(window.window(), Millis(0));
    Millis before{0};
    for (int i = 0; i < 20; i++) {
        window.adapt(0.9);
        EXPECT_GE(window.window(), before);
        before = window.window();
    }
    EXPECT_EQ(window.window(), MergeWindow::kWidest);
    window.adapt((MergeWindow::kWiden + MergeWindow::kNarrow) / 2);
    EXPECT_EQ(window.window(), MergeWindow::kWidest) << "between the two it stays";
    for (int i = 0; i < 20; i++) {
        window.adapt(0.01);
    }
    EXPECT_EQ(window.window(), Millis(0));
}

TEST(MergeWindowTest, LooksAtTheLoadOncePerPeriod) {
    MergeWindow window;
    MonoTime now{Seconds(10)};
    int asked = 0;
    for (int i = 0; i < 100; i++) {
        window.update(now + Millis(i), [&] {
            asked++;
            return 0.9;
        });
    }
    EXPECT_EQ(asked, 1);
    EXPECT_GT(window.window(), Millis(0));
}

}  // namespace
}  // namespace weir::net
