// Offers and hook servers: who is asked when, and what is refused before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/webrtc/rtc_routes.h"

#include "test/net/http/test_client.h"
#include "test/session/fake_hooks.h"
#include "test/session/webrtc/rtc_world.h"

namespace weir::session {
namespace {

using net::HookAction;

class RtcAdmissionTest : public RtcWorld {
  protected:
    // Sessions hold tickets of hooks_, which goes before them.
    ~RtcAdmissionTest() override {
        EXPECT_FALSE(rtc_->stop(io::soon()));
        stop();
        rtc_ = nullptr;
        own_rtc_.reset();
    }

    void start(RtcServerOptions options = {}) {
        start_rtc(std::move(options));
        routes_ = std::make_unique<RtcRoutes>(hooked_, *rtc_, std::vector<IceServer>{});
        routes_->add_to(router_);
        start_http();
    }

    net::TestAnswer post(std::string_view target, std::string_view sdp) {
        return net::TestClient(http_address_)
            .ask(fmt::format("POST {} HTTP/1.1\r\nHost: h\r\nContent-Type: application/sdp\r\n"
                             "Referer: http://page/?key=s3cret\r\nContent-Length: {}\r\n\r\n{}",
                             target, sdp.size(), sdp));
    }

    net::TestAnswer whip(std::string_view name) {
        return post(fmt::format("/live/{}/whip?user=7", name), RtcPeer::offer("chromium-whip"));
    }

    FakeHooks hooks_;
    net::Services hooked_{registry_, fanout_, clients_, connections_, policy_, limits_, hooks_};
    std::unique_ptr<RtcRoutes> routes_;
};

TEST_F(RtcAdmissionTest, ASessionIsAskedForAndItsEndIsTold) {
    start();
    const net::TestAnswer made = whip("a");
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(hooks_.asked, (Told{"on_publish live/a user=7"}));
    EXPECT_EQ(hooks_.tc_urls, (Told{"webrtc://h/live/a"}));
    clients_.for_each(
        [](const net::Client& client) { EXPECT_EQ(client.page_url, "http://page/?key=***"); });
    net::TestClient deleting(http_address_);
    EXPECT_EQ(deleting
                  .ask(fmt::format("DELETE {} HTTP/1.1\r\nHost: h\r\n\r\n",
                                   *made.headers.get("Location")))
                  .status,
              200);
    EXPECT_EQ(hooks_.told, (Told{"+on_publish", "-on_publish peer_closed"}));
}

TEST_F(RtcAdmissionTest, WhatIsRefusedAnywayIsNotAskedFor) {
    RtcServerOptions options;
    options.max_sessions = 1;
    start(options);
    start_rtmp();
    const auto busy = publisher("a");
    EXPECT_EQ(post("/live/b/whip", "hello").status, 400) << "no offer";
    EXPECT_EQ(post("/closed/b/whip", RtcPeer::offer("chromium-whip")).status, 403);
    EXPECT_EQ(whip("a").status, 409) << "a busy name";
    EXPECT_TRUE(hooks_.asked.empty());
    EXPECT_EQ(whip("b").status, 201);
    EXPECT_EQ(whip("c").status, 503) << "no room";
    EXPECT_EQ(hooks_.asked.size(), 1U);
    EXPECT_TRUE(
        logged("publish refused stream=/live/b transport=webrtc ip=127.0.0.1 "
               "code=malformed: "));
}

TEST_F(RtcAdmissionTest, AnOfferHasItsPlacesWhileItsHookIsAsked) {
    RtcServerOptions options;
    options.max_unproven_per_address = 1;
    start(options);
    hooks_.held[HookAction::kPublish] = true;
    int first = 0;
    io::Coroutine asking = io::go([&] { first = whip("a").status; });
    ASSERT_TRUE(io::eventually([&] { return hooks_.asked.size() == 1; }));
    EXPECT_EQ(whip("b").status, 503) << "no second offer of that address";
    EXPECT_EQ(hooks_.asked.size(), 1U);
    hooks_.held.clear();
    asking.join();
    EXPECT_EQ(first, 201);
}

TEST_F(RtcAdmissionTest, ARefusedOfferLeavesNothingBehind) {
    start();
    hooks_.refused[HookAction::kPublish] = ErrorCode::kDenied;
    EXPECT_EQ(whip("a").status, 403);
    hooks_.refused[HookAction::kPublish] = ErrorCode::kTimeout;
    EXPECT_EQ(whip("a").status, 503);
    EXPECT_EQ(post("/live/nobody/whep", RtcPeer::offer("chromium-whep")).status, 404);
    EXPECT_EQ(hooks_.told, (Told{"+on_play", "-on_play no_publisher"}));
    EXPECT_EQ(clients_.size(), 0U);
    EXPECT_EQ(rtc_->sessions(), 0U);
}

}  // namespace
}  // namespace weir::session
