#include "net/client_table.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
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

TEST(ClientTableTest, ComputesRatesOverASamplingPeriod) {
    ClientTable table;
    const MonoTime now{Seconds(50)};
    table.sample(now);
    Client client(table, "rtmp", "192.0.2.1");
    client.sent_bytes = 1'000'000;
    client.received_bytes = 500;
    table.sample(now + Seconds(2));
    EXPECT_EQ(client.send_bps(), 4'000'000U);
    EXPECT_EQ(client.receive_bps(), 2000U);
    table.sample(now + Seconds(2));
    EXPECT_EQ(client.send_bps(), 4'000'000U) << "no time, no change";
    table.sample(now + Seconds(4));
    EXPECT_EQ(client.send_bps(), 0U);
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
    client.log_summary("closed by \"them\"");
    log::set_sink(nullptr);
    for (const std::string& part :
         {std::string(client.id()), std::string("role=player"), std::string("ip=192.0.2.1"),
          std::string("stream=/live/a\\x0ab"), std::string("bytes=12345"), std::string("resyncs=2"),
          std::string("reason=\"closed by \\\"them\\\"\"")}) {
        EXPECT_THAT(line, HasSubstr(part));
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
