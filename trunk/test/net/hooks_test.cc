#include "net/hooks.h"

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "net/client_table.h"
#include "net/player.h"

namespace weir::net {
namespace {

using Told = std::vector<std::string>;

class FakeRecord final : public HookTicket::Record {
  public:
    FakeRecord(Told& told, std::string name) : told_(told), name_(std::move(name)) {}

    void end(const Client& client, EndClass why, std::string_view detail) override {
        told_.push_back(fmt::format("{} {} {}: {}", name_, client.ip(), to_string(why), detail));
    }

  private:
    Told& told_;
    std::string name_;
};

HookTicket ticket(Told& told, std::string name) {
    return HookTicket(std::make_unique<FakeRecord>(told, std::move(name)));
}

TEST(HookTicketTest, TellsItsEndOnce) {
    ClientTable table;
    Told told;
    {
        Client client(table, "rtmp", "192.0.2.1");
        client.connected_ticket = ticket(told, "connection");
        client.turn_ticket = ticket(told, "turn");
        client.tell_end(EndClass::kKicked, "by the API");
        client.tell_end(EndClass::kError, "again");
    }
    EXPECT_EQ(told, (Told{"turn 192.0.2.1 kicked: by the API",
                          "connection 192.0.2.1 kicked: by the API"}));
}

TEST(HookTicketTest, AClientThatGoesWithoutAWordTellsItToo) {
    ClientTable table;
    Told told;
    {
        Client client(table, "rtmp", "192.0.2.1");
        client.turn_ticket = ticket(told, "turn");
        HookTicket moved = std::move(client.turn_ticket);
        EXPECT_FALSE(client.turn_ticket);
        client.turn_ticket = std::move(moved);
    }
    EXPECT_EQ(told, Told{"turn 192.0.2.1 refused: ended before it began"});
}

TEST(HooksTest, EveryEndOfAPlayerHasAWord) {
    const std::pair<EndReason, std::string_view> ends[] = {
        {EndReason::kPeerClosed, "peer_closed"},   {EndReason::kKicked, "kicked"},
        {EndReason::kProtocolError, "error"},      {EndReason::kWriteStalled, "stalled"},
        {EndReason::kNoPublisher, "no_publisher"}, {EndReason::kPublisherGone, "no_publisher"},
        {EndReason::kServerStopping, "stopping"},  {EndReason::kSystemError, "error"},
    };
    for (const auto& [reason, word] : ends) {
        EXPECT_EQ(to_string(end_class(reason)), word) << to_string(reason);
    }
}

TEST(HooksTest, WithoutHooksNobodyIsAsked) {
    ClientTable table;
    const Client client(table, "rtmp", "192.0.2.1");
    EXPECT_FALSE(no_hooks().wants(HookAction::kPublish, {"v", "live", "x"}));
    const Result<HookTicket> ticket = no_hooks().ask(client, {}, nullptr);
    ASSERT_TRUE(ticket.ok());
    EXPECT_FALSE(*ticket);
}

TEST(HookTicketTest, AnotherTicketInItsPlaceEndsTheFirst) {
    struct Forgotten final : HookTicket::Record {
        explicit Forgotten(int& ends) : ends_(ends) {}

        Forgotten(const Forgotten&) = delete;
        Forgotten& operator=(const Forgotten&) = delete;

        ~Forgotten() override { ends_++; }

        void end(const Client&, EndClass, std::string_view) override {}

        int& ends_;
    };

    int ends = 0;
    HookTicket held(std::make_unique<Forgotten>(ends));
    held = HookTicket(std::make_unique<Forgotten>(ends));
    EXPECT_EQ(ends, 1) << "whoever implements hooks is told of the one that was dropped";
    EXPECT_TRUE(held);
    held = HookTicket();
    EXPECT_EQ(ends, 2);
    EXPECT_FALSE(held);
    ClientTable table;
    const Client client(table, "rtmp", "192.0.2.1");
    held.end(client, EndClass::kError, "there is none");
}

// What hook servers and the configuration call them.
TEST(HooksTest, ActionsHaveTheNamesOfTheirDirectives) {
    std::set<std::string_view> names;
    for (size_t i = 0; i < kHookActions; i++) {
        const std::string_view name = to_string(static_cast<HookAction>(i));
        EXPECT_TRUE(name.starts_with("on_")) << name;
        names.insert(name);
    }
    EXPECT_EQ(names.size(), kHookActions);
}

}  // namespace
}  // namespace weir::net
