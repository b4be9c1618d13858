#include "net/entrance.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/object_count.h"
#include "io/deadline.h"
#include "io/tls.h"
#include "io/tls_acceptor.h"
#include "net/client_table.h"
#include "net/fanout.h"
#include "net/ingress.h"
#include "net/limits.h"
#include "net/play_rules.h"
#include "net/policy.h"
#include "net/trusted_proxies.h"
#include "stream/registry.h"

#include "test/support/io/loopback.h"

namespace weir::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class NoPolicy final : public Policy {
  public:
    stream::StreamKey key_of(std::string_view, std::string_view, std::string_view) const override {
        return {};
    }

    Result<PublishRules> may_publish(const AccessRequest&) const override { return PublishRules(); }

    Result<PlayRules> may_play(const AccessRequest&) const override { return PlayRules(); }
};

class EntranceTest : public testing::Test {
  protected:
    EntranceTest() {
        logged().clear();
        log::set_sink([](log::Level, std::string_view line) { logged() += line; });
    }

    ~EntranceTest() override {
        entrance_.dismiss();
        group_.interrupt_all();
        EXPECT_FALSE(group_.join_all(io::soon()));
        EXPECT_EQ(connections_.used(), 0U) << "each place was given back";
        EXPECT_EQ(clients_.size(), 0U);
        log::set_sink(nullptr);
    }

    // The client's end of a connection that came in.
    std::unique_ptr<io::TcpStream> come(const std::shared_ptr<const Ingress>& ingress = nullptr,
                                        Millis patience = Millis(600'000)) {
        auto [client, server] = io::loopback_pair();
        server->set_peer(*io::SocketAddress::parse("203.0.113.9:1000"));  // no limit on loopback
        entrance_.take(std::move(server), ingress, patience);
        return std::move(client);
    }

    void say(io::TcpStream& stream, std::string_view text) {
        EXPECT_FALSE(stream.write_all(as_bytes(text), io::soon()));
    }

    bool begun(size_t count) {
        return io::eventually([&] { return begun_.size() >= count; });
    }

    static bool ended(io::TcpStream& stream) {
        std::array<uint8_t, 1> byte{};
        return stream.read_some(byte, io::soon()).error().code() == ErrorCode::kClosed;
    }

    static std::string& logged() {
        static std::string text;
        return text;
    }

    std::vector<std::string> begun_;  // by what they said
    stream::Registry registry_;
    Fanout fanout_{registry_};
    ClientTable clients_;
    ConnectionBudget connections_{2};
    NoPolicy policy_;
    Limits limits_;
    Services services_{registry_, fanout_, clients_, connections_, policy_, limits_};
    io::TaskGroup group_;
    Entrance entrance_{
        "rtmp", services_, group_, [this](Arrival arrival) {
            Bytes said(16);
            const auto got = arrival.stream->read_some(said, io::Deadline::after(Millis(0)));
            begun_.emplace_back(got.ok() ? as_text(ByteSpan(said).first(*got)) : "nothing");
            (void)io::sleep_for(Seconds(600));  // until the test ends
        }};
};

TEST_F(EntranceTest, AClientBeginsWithItsFirstByte) {
    const auto silent = come();
    const auto guest = come();
    say(*guest, "hello");
    ASSERT_TRUE(begun(1));
    EXPECT_THAT(begun_, ElementsAre("hello"));
    EXPECT_EQ(clients_.size(), 1U) << "the silent one is no client yet";
    EXPECT_EQ(group_.size(), 1U) << "and has no coroutine";
    EXPECT_EQ(connections_.used(), 2U) << "but a place";
}

TEST_F(EntranceTest, WhoSaysNothingForTooLongBeginsToo) {
    const auto silent = come(nullptr, Millis(20));
    ASSERT_TRUE(begun(1));
    EXPECT_THAT(begun_, ElementsAre("nothing")) << "its protocol tells it so";
}

TEST_F(EntranceTest, OneTooManyIsClosedAndTheLogSaysWhy) {
    const auto first = come();
    const auto second = come();
    const auto third = come();
    EXPECT_TRUE(ended(*third));
    EXPECT_THAT(logged(),
                HasSubstr("connection refused ip=203.0.113.9: max_connections 2 reached"));
}

TEST_F(EntranceTest, OneTooManyOfAnAddressGivesItsPlaceBack) {
    limits_.set_connections_per_address(1);
    const auto first = come();
    const auto second = come();
    EXPECT_TRUE(ended(*second));
    EXPECT_EQ(connections_.used(), 1U);
    EXPECT_THAT(logged(), HasSubstr("max_connections_per_ip"));
}

TEST_F(EntranceTest, BehindAProxyTheAddressIsCountedWhenItIsKnown) {
    limits_.set_connections_per_address(1);
    TrustedProxies proxies;
    io::TlsAcceptor tls{nullptr};
    IngressStats stats;
    const auto proxied =
        std::make_shared<const Ingress>(Ingress::Shared{proxies, tls, stats}, true, nullptr);
    const auto first = come(proxied);
    const auto second = come(proxied);
    say(*first, "a");
    say(*second, "b");
    EXPECT_TRUE(begun(2));
}

TEST_F(EntranceTest, DismissedNobodyBegins) {
    const auto silent = come();
    entrance_.dismiss();
    EXPECT_TRUE(ended(*silent));
    EXPECT_EQ(connections_.used(), 0U);
}

}  // namespace
}  // namespace weir::net
