#include "app/run/listener_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/session/webrtc/rtc_world.h"

namespace weir::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ListenerSetTest : public session::RtcWorld {
  protected:
    ListenerSetTest() {
        own_rtc_ = std::make_unique<session::RtcServer>(services_, session::RtcServerOptions());
        rtc_ = own_rtc_.get();
        EXPECT_FALSE(rtc_->start(workers_.get()));
        set_ = std::make_unique<ListenerSet>();
        set_->add({.kind = "rtmp", .scheme = "rtmp", .acceptors = &rtmp_acceptors_});
        set_->add({.kind = "http", .scheme = "http", .acceptors = &http_acceptors_});
        set_->add({.kind = "udp",
                   .scheme = "udp",
                   .purpose = "WebRTC",
                   .datagrams = &rtc_->transport(),
                   .changed = [this] { udp_changes_++; }});
        set_->add({.kind = "tcp",
                   .scheme = "tcp",
                   .purpose = "WebRTC",
                   .acceptors = &rtc_->transport().acceptors(),
                   .beside = "udp"});
    }

    ~ListenerSetTest() override {
        rtmp_acceptors_.stop();
        http_acceptors_.stop();
    }

    // A port that nobody has, as text.
    static std::string port() {
        auto listener = io::TcpListener::listen(io::loopback());
        EXPECT_TRUE(listener.ok());
        return std::to_string((*listener)->local().port());
    }

    static WantedListener wanted(std::string_view kind, const std::string& address) {
        WantedListener made;
        made.kind = kind;
        made.address.address = address;
        made.address.origin = "test";
        return made;
    }

    static WantedListener rtmp(const std::string& port) {
        return wanted("rtmp", "127.0.0.1:" + port);
    }

    static WantedListener http(const std::string& port) {
        return wanted("http", "127.0.0.1:" + port);
    }

    static WantedListener udp(const std::string& port) {
        return wanted("udp", "127.0.0.1:" + port);
    }

    // Empty when it worked, else the messages.
    std::string change(const std::vector<WantedListener>& all) {
        std::string text;
        for (const ListenFailure& failure : set_->prepare(all)) {
            text += failure.error.message();
        }
        if (text.empty()) {
            EXPECT_FALSE(set_->commit());
        }
        return text;
    }

    bool accepts(const std::string& port) {
        const auto to = io::SocketAddress::parse("127.0.0.1:" + port);
        return io::TcpStream::connect(*to, io::soon()).ok();
    }

    int udp_changes_ = 0;
    size_t of_rtmp_ = 0;
    size_t of_http_ = 0;
    net::Acceptors rtmp_acceptors_{"rtmp", [this](auto, const auto&) { of_rtmp_++; }};
    net::Acceptors http_acceptors_{"http", [this](auto, const auto&) { of_http_++; }};
    std::unique_ptr<ListenerSet> set_;
};

TEST_F(ListenerSetTest, AddsMovesAndRemoves) {
    const std::string a = port();
    const std::string b = port();
    EXPECT_EQ(change({rtmp(a)}), "");
    EXPECT_TRUE(accepts(a));
    EXPECT_EQ(change({rtmp(a), http(b)}), "");
    EXPECT_TRUE(accepts(a) && accepts(b));
    EXPECT_EQ(change({http(b)}), "");
    EXPECT_FALSE(accepts(a));
    EXPECT_THAT(set_->list(), ElementsAre("http://127.0.0.1:" + b));
    EXPECT_EQ(change({}), "");
    EXPECT_FALSE(accepts(b));
    EXPECT_THAT(set_->list(), IsEmpty());
}

TEST_F(ListenerSetTest, APortThatIsTakenLeavesEverythingAsItIs) {
    auto other = io::TcpListener::listen(io::loopback());
    const std::string taken = std::to_string((*other)->local().port());
    const std::string a = port();
    const std::string b = port();
    EXPECT_EQ(change({rtmp(a)}), "");
    EXPECT_THAT(change({http(b), http(taken)}), HasSubstr("in use"));
    EXPECT_TRUE(accepts(a)) << "the old one stays";
    EXPECT_FALSE(accepts(b)) << "none of the new ones";
    EXPECT_THAT(set_->list(), ElementsAre("rtmp://127.0.0.1:" + a));
    EXPECT_EQ(change({http(b)}), "") << "and the next change works";
}

TEST_F(ListenerSetTest, AllThatIsTakenIsTold) {
    auto one = io::TcpListener::listen(io::loopback());
    auto two = io::TcpListener::listen(io::loopback());
    EXPECT_EQ(set_->prepare({rtmp(std::to_string((*one)->local().port())),
                             http(std::to_string((*two)->local().port()))})
                  .size(),
              2U);
}

TEST_F(ListenerSetTest, PortsChangeHandsWithoutBeingClosed) {
    const std::string a = port();
    const std::string b = port();
    EXPECT_EQ(change({rtmp(a), http(b)}), "");
    EXPECT_EQ(change({rtmp(b), http(a)}), "");
    EXPECT_THAT(set_->list(), ElementsAre("rtmp://127.0.0.1:" + b, "http://127.0.0.1:" + a));
    EXPECT_TRUE(accepts(a));
    EXPECT_TRUE(io::eventually([&] { return of_http_ == 1; }));
    EXPECT_TRUE(accepts(b));
    EXPECT_TRUE(io::eventually([&] { return of_rtmp_ == 1; }));
}

TEST_F(ListenerSetTest, AnAddressMayGrowAndShrinkOnItsPort) {
    const std::string a = port();
    EXPECT_EQ(change({rtmp(a)}), "");
    EXPECT_EQ(change({wanted("rtmp", "[::]:" + a)}), "");
    EXPECT_TRUE(accepts(a));
    EXPECT_EQ(change({rtmp(a)}), "");
    EXPECT_TRUE(accepts(a));
    EXPECT_EQ(set_->list().size(), 1U);
}

TEST_F(ListenerSetTest, WhatHadToGoFirstComesBackWhenTheNewOneFails) {
    const std::string a = port();
    const std::string b = port();
    EXPECT_EQ(change({wanted("rtmp", "127.0.0.1:" + a), http(b)}), "");
    // Of this machine is 127.0.0.1, not 192.0.2.1: the wide one can be had, the last one cannot.
    EXPECT_NE(change({wanted("rtmp", "[::]:" + a), wanted("http", "192.0.2.1:" + b)}), "");
    EXPECT_TRUE(accepts(a));
    EXPECT_TRUE(accepts(b));
    EXPECT_THAT(set_->list(), ElementsAre("rtmp://127.0.0.1:" + a, "http://127.0.0.1:" + b));
}

TEST_F(ListenerSetTest, PortsBelow1024SayWhatTheyNeed) {
    // Root may have them; then there is nothing to refuse.
    if (geteuid() != 0) {
        EXPECT_THAT(change({rtmp("81")}), HasSubstr("CAP_NET_BIND_SERVICE"));
    } else {
        EXPECT_EQ(change({rtmp("81")}), "");
    }
}

TEST_F(ListenerSetTest, AUdpPortThatNobodyUsesIsClosedAtOnce) {
    const std::string a = port();
    EXPECT_EQ(change({udp(a)}), "");
    EXPECT_TRUE(rtc_->serving());
    EXPECT_EQ(change({}), "");
    EXPECT_FALSE(rtc_->serving());
    EXPECT_TRUE(io::eventually([&] { return rtc_->transport().retired() == 0; }));
    auto again = io::UdpSocket::bind(*io::SocketAddress::parse("127.0.0.1:" + a), {});
    EXPECT_TRUE(again.ok());
}

TEST_F(ListenerSetTest, SessionsKeepTheUdpPortThatTheyUse) {
    EXPECT_EQ(change({udp("0")}), "");
    rtc_address_ =
        *io::SocketAddress::parse(set_->list()[0].substr(6, set_->list()[0].find(' ') - 6));
    auto peer = publishing_peer();
    ASSERT_NE(peer, nullptr);
    const std::string id = id_;
    const std::string b = port();
    EXPECT_EQ(change({udp(b)}), "");
    EXPECT_EQ(rtc_->transport().retired(), 1U);
    EXPECT_TRUE(rtc_->serving());
    EXPECT_THAT(rtc_->transport().candidate_text(), "127.0.0.1:" + b + "/udp")
        << "new ones are not told of it";
    EXPECT_FALSE(io::sleep_for(Millis(1200)));  // two rounds of the timers
    EXPECT_EQ(rtc_->transport().retired(), 1U) << "its session has not ended";
    EXPECT_NE(rtc_->find(id), nullptr);
    // Back again while it is still there: the same socket.
    const std::string old = "127.0.0.1:" + std::to_string(rtc_address_.port());
    EXPECT_EQ(change({wanted("udp", old)}), "");
    EXPECT_THAT(rtc_->transport().candidate_text(), old + "/udp");
    EXPECT_NE(rtc_->find(id), nullptr);
    EXPECT_EQ(change({}), "");
    rtc_->find(id)->end(net::EndClass::kKicked, "the test ends it");
    EXPECT_TRUE(io::eventually([&] { return rtc_->transport().retired() == 0; }));
}

TEST_F(ListenerSetTest, WebRtcByTcpIsWhereItIsByUdp) {
    // The TCP port of the number that UDP was given may be another program's.
    std::string failed = "not tried";
    for (int i = 0; i < 5 && !failed.empty(); i++) {
        failed = change({udp("0"), wanted("tcp", "127.0.0.1:0")});
    }
    EXPECT_EQ(failed, "");
    const std::vector<std::string> all = set_->list();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].substr(3), all[1].substr(3));
    EXPECT_EQ(change({udp("0")}), "");
    EXPECT_EQ(set_->list().size(), 1U);
    EXPECT_EQ(set_->list()[0], all[0]) << "the UDP port is the same one";
}

TEST_F(ListenerSetTest, UdpPortsOfTwoServicesNeverChangeHands) {
    session::RtcServer other(services_, session::RtcServerOptions());
    EXPECT_FALSE(other.start(workers_.get()));
    set_->add(
        {.kind = "other", .scheme = "udp", .purpose = "others", .datagrams = &other.transport()});
    const std::string a = port();
    EXPECT_EQ(change({udp(a)}), "");
    EXPECT_EQ(change({wanted("other", "127.0.0.1:" + a)}), "");
    EXPECT_TRUE(other.serving());
    EXPECT_FALSE(rtc_->serving());
    EXPECT_THAT(set_->list(), ElementsAre("udp://127.0.0.1:" + a + " for others"));
    EXPECT_EQ(change({}), "");
    EXPECT_TRUE(io::eventually([&] { return other.transport().retired() == 0; }));
    EXPECT_FALSE(other.stop(io::soon()));
}

TEST_F(ListenerSetTest, TellsAServiceThatItsUdpPortsChanged) {
    const std::string a = port();
    EXPECT_EQ(change({rtmp(a)}), "");
    EXPECT_EQ(udp_changes_, 0);
    EXPECT_EQ(change({rtmp(a), udp("0")}), "");
    EXPECT_EQ(udp_changes_, 1);
    EXPECT_EQ(change({rtmp(a), udp("0")}), "");
    EXPECT_EQ(udp_changes_, 1) << "nothing was different";
}

}  // namespace
}  // namespace weir::app
