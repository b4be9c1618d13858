#include "session/webrtc/rtc_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/net/http/test_client.h"
#include "test/session/webrtc/rtc_world.h"

namespace weir::session {
namespace {

using testing::HasSubstr;

TEST(IfMatchTest, ComparesStrongly) {
    EXPECT_TRUE(if_match_holds("\"abc\"", "\"abc\""));
    EXPECT_TRUE(if_match_holds(" \"x\" , \"abc\" ", "\"abc\""));
    EXPECT_TRUE(if_match_holds("*", "\"abc\""));
    EXPECT_TRUE(if_match_holds("\"*\"", "\"abc\"")) << "as RFC 9725 writes it in its example";
    EXPECT_FALSE(if_match_holds("W/\"abc\"", "\"abc\""));
    EXPECT_FALSE(if_match_holds("abc", "\"abc\""));
    EXPECT_FALSE(if_match_holds("", "\"abc\""));
}

TEST(LinkTest, CarriesCredentialsOfTurnOnly) {
    EXPECT_EQ(link_text({"stun:stun.example.net", "", ""}),
              "<stun:stun.example.net>; rel=\"ice-server\"");
    EXPECT_EQ(link_text({"turn:turn.example.net?transport=udp", "me", "a\"b\\c"}),
              "<turn:turn.example.net?transport=udp>; rel=\"ice-server\"; username=\"me\"; "
              "credential=\"a\\\"b\\\\c\"; credential-type=\"password\"");
}

class RtcRoutesTest : public RtcWorld {
  protected:
    void start(RtcServerOptions options = {}) {
        start_rtc(std::move(options));
        routes_ = std::make_unique<RtcRoutes>(
            services_, *rtc_,
            std::vector<IceServer>{{"stun:stun.example.net", "", ""},
                                   {"turn:turn.example.net", "me", "secret"}});
        routes_->add_to(router_);
        start_http();
    }

    net::TestAnswer ask(std::string_view method,
                        std::string_view target,
                        std::string_view fields = "",
                        std::string_view body = "") {
        return net::TestClient(http_address_)
            .ask(fmt::format("{} {} HTTP/1.1\r\nHost: h\r\n{}Content-Length: {}\r\n\r\n{}", method,
                             target, fields, body.size(), body));
    }

    net::TestAnswer offer(std::string_view target, std::string_view fields = "") {
        return ask("POST", target, fmt::format("Content-Type: application/sdp\r\n{}", fields),
                   RtcPeer::offer("chromium-whip"));
    }

    net::TestAnswer patch(std::string_view location,
                          std::string_view fields,
                          std::string_view body) {
        return ask("PATCH", location,
                   fmt::format("Content-Type: application/trickle-ice-sdpfrag\r\n{}", fields),
                   body);
    }

    static std::string header(const net::TestAnswer& answer, std::string_view name) {
        return std::string(answer.headers.get(name).value_or(""));
    }

    static std::string restart(int number) {
        return fmt::format("a=ice-ufrag:ufrag{}\r\na=ice-pwd:0123456789012345678901\r\n", number);
    }

    std::unique_ptr<RtcRoutes> routes_;
};

constexpr std::string_view kWhip = "/rtc/v1/whip/?app=live&stream=a";
constexpr std::string_view kCandidates =
    "a=ice-ufrag:{}\r\na=ice-pwd:0123456789012345678901\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\n"
    "a=mid:0\r\na=candidate:1 1 udp 2122260223 192.0.2.1 61764 typ host\r\n";

TEST_F(RtcRoutesTest, ASessionIsCreatedWithItsAddressTagAndServers) {
    start();
    const net::TestAnswer made = offer(kWhip);
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(header(made, "Content-Type"), "application/sdp");
    EXPECT_EQ(header(made, "Location").find("/rtc/v1/session/"), 0U);
    EXPECT_EQ(header(made, "ETag").front(), '"');
    EXPECT_EQ(header(made, "Accept-Patch"), "application/trickle-ice-sdpfrag");
    EXPECT_EQ(header(made, "Access-Control-Allow-Origin"), "*");
    for (const char* exposed : {"Location", "ETag", "Link"}) {
        EXPECT_TRUE(made.headers.has_token("Access-Control-Expose-Headers", exposed)) << exposed;
    }
    EXPECT_EQ(made.headers.count("Link"), 2U);
    EXPECT_EQ(header(made, "Link"), "<stun:stun.example.net>; rel=\"ice-server\"");
    EXPECT_EQ(rtc_->sessions(), 1U);
}

TEST_F(RtcRoutesTest, OtherFormsOfTheAddressAreTaken) {
    start();
    EXPECT_EQ(offer("/live/a/whip").status, 201);
    EXPECT_EQ(offer("/live/room/b/whip?vhost=x").status, 201);
    EXPECT_EQ(offer("/rtc/v1/whip?app=live&stream=c").status, 201);
    EXPECT_EQ(offer("/a/whip").status, 404) << "no app: a file, which is not there";
    EXPECT_EQ(offer("/rtc/v1/whip/").status, 400);
    std::set<std::string> streams;
    clients_.for_each([&](const net::Client& client) { streams.insert(client.key.to_string()); });
    EXPECT_EQ(streams, (std::set<std::string>{"/live/a", "/live/room/b", "/live/c"}));
}

TEST_F(RtcRoutesTest, DeleteEndsASessionOnce) {
    start();
    const std::string location = header(offer(kWhip), "Location");
    EXPECT_EQ(ask("DELETE", location, "If-Match: \"other\"\r\n").status, 200)
        << "no tag counts here";
    EXPECT_EQ(rtc_->sessions(), 0U);
    EXPECT_EQ(ask("DELETE", location).status, 404);
    EXPECT_EQ(patch(location, "If-Match: *\r\n", restart(1)).status, 404);
    EXPECT_EQ(ask("DELETE", "/rtc/v1/session").status, 404);
}

TEST_F(RtcRoutesTest, ReservedMethodsAreRefused) {
    start();
    const std::string location = header(offer(kWhip), "Location");
    for (const char* method : {"GET", "HEAD", "PUT"}) {
        for (const std::string& target :
             {std::string(kWhip), location, std::string("/live/a/whep")}) {
            const net::TestAnswer answer = ask(method, target);
            EXPECT_EQ(answer.status, 405) << method << ' ' << target;
            EXPECT_FALSE(header(answer, "Allow").empty());
        }
    }
    EXPECT_EQ(ask("POST", location).status, 405);
}

TEST_F(RtcRoutesTest, OptionsSayWhatIsTaken) {
    start();
    const net::TestAnswer plain = ask("OPTIONS", kWhip);
    EXPECT_EQ(plain.status / 100, 2);
    EXPECT_EQ(header(plain, "Accept-Post"), "application/sdp");
    EXPECT_EQ(header(plain, "Link"), "") << "passwords are for those who may publish or play";
    const net::TestAnswer preflight =
        ask("OPTIONS", "/rtc/v1/session/x",
            "Origin: http://x\r\nAccess-Control-Request-Method: PATCH\r\n"
            "Access-Control-Request-Headers: authorization, if-match, content-type\r\n");
    EXPECT_EQ(preflight.status / 100, 2);
    EXPECT_TRUE(preflight.headers.has_token("Access-Control-Allow-Methods", "PATCH"));
    EXPECT_TRUE(preflight.headers.has_token("Access-Control-Allow-Headers", "if-match"));
    EXPECT_EQ(header(preflight, "Accept-Patch"), "application/trickle-ice-sdpfrag");
}

// RFC 9725 §4.3.1 and §4.3.2.
TEST_F(RtcRoutesTest, CandidatesWithATagNeedThatOfTheIceSession) {
    start();
    const net::TestAnswer made = offer(kWhip);
    const std::string location = header(made, "Location");
    const std::string ufrag =
        rtc_->find(location.substr(std::string_view("/rtc/v1/session/").size()))->remote_ufrag();
    const std::string body = fmt::format(fmt::runtime(kCandidates), ufrag);
    EXPECT_EQ(patch(location, "If-Match: \"stale\"\r\n", body).status, 412);
    const net::TestAnswer taken =
        patch(location, fmt::format("If-Match: {}\r\n", header(made, "ETag")), body);
    EXPECT_EQ(taken.status, 204);
    EXPECT_EQ(taken.body, "");
    EXPECT_FALSE(taken.headers.has("ETag"));
    EXPECT_EQ(patch(location, "If-Match: *\r\n", "what?").status, 400);
    const net::TestAnswer wrong = ask("PATCH", location, "If-Match: *\r\n", body);
    EXPECT_EQ(wrong.status, 415);
    EXPECT_EQ(header(wrong, "Accept-Patch"), "application/trickle-ice-sdpfrag");
}

// whip-whep 1.2.0 sends no If-Match (issue 32).
TEST_F(RtcRoutesTest, CandidatesWithoutATagAreTakenButNoRestart) {
    start();
    const net::TestAnswer made = offer(kWhip);
    const std::string location = header(made, "Location");
    const auto candidates = [&] {
        const RtcSession* const session =
            rtc_->find(location.substr(std::string_view("/rtc/v1/session/").size()));
        return fmt::format(fmt::runtime(kCandidates), session->remote_ufrag());
    };
    EXPECT_EQ(patch(location, "", candidates()).status, 204);
    EXPECT_EQ(patch(location, "", "a=end-of-candidates\r\n").status, 204) << "no credentials";
    EXPECT_EQ(patch(location, "", "what?").status, 400);
    const std::string old = candidates();
    EXPECT_EQ(patch(location, "", restart(1)).status, 428);
    EXPECT_EQ(patch(location, "", candidates()).status, 204) << "nothing was restarted";
    ASSERT_EQ(patch(location, "If-Match: *\r\n", restart(1)).status, 200);
    EXPECT_EQ(patch(location, "", candidates()).status, 204);
    EXPECT_EQ(patch(location, "", old).status, 428) << "of the ICE session before the restart";
}

// §4.3.3.
TEST_F(RtcRoutesTest, ARestartGivesANewTagAndNewCredentials) {
    start();
    const net::TestAnswer made = offer(kWhip);
    const std::string location = header(made, "Location");
    const net::TestAnswer again = patch(location, "If-Match: *\r\n", restart(1));
    ASSERT_EQ(again.status, 200) << again.body;
    EXPECT_EQ(header(again, "Content-Type"), "application/trickle-ice-sdpfrag");
    EXPECT_NE(header(again, "ETag"), header(made, "ETag"));
    EXPECT_NE(sdp_value(again.body, "a=ice-ufrag:"), sdp_value(made.body, "a=ice-ufrag:"));
    EXPECT_THAT(again.body, HasSubstr("a=candidate:"));
    // Candidates of the session before come too late.
    EXPECT_EQ(
        patch(location, fmt::format("If-Match: {}\r\n", header(made, "ETag")), restart(2)).status,
        412);
    EXPECT_EQ(rtc_->sessions(), 1U);
}

TEST_F(RtcRoutesTest, TokensReachThePolicy) {
    start();
    constexpr std::string_view kSecret = "/rtc/v1/whip/?app=secret&stream=a";
    EXPECT_EQ(offer(kSecret).status, 403);
    EXPECT_EQ(offer(kSecret, "Authorization: Bearer wrong\r\n").status, 403);
    EXPECT_EQ(offer(kSecret, "Authorization: Bearer\r\n").status, 400);
    EXPECT_EQ(offer(kSecret, "Authorization: Bearer open-sesame\r\n").status, 201);
    EXPECT_EQ(offer("/secret/b/whip?key=open-sesame").status, 201);
    EXPECT_FALSE(logged("open-sesame"));
}

TEST_F(RtcRoutesTest, AFullServerAsksToComeAgain) {
    RtcServerOptions options;
    options.max_sessions = 1;
    start(options);
    EXPECT_EQ(offer(kWhip).status, 201);
    const net::TestAnswer refused = offer("/live/b/whip");
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(header(refused, "Retry-After"), "5");
    EXPECT_EQ(rtc_->stats().sessions_refused, 1U);
}

TEST_F(RtcRoutesTest, WhatIsNoOfferIsRefusedWithAReason) {
    start();
    const net::TestAnswer json = ask("POST", kWhip, "Content-Type: application/json\r\n", "{}");
    EXPECT_EQ(json.status, 415);
    EXPECT_EQ(header(json, "Accept-Post"), "application/sdp");
    const net::TestAnswer text = ask("POST", kWhip, "Content-Type: application/sdp\r\n", "hello");
    EXPECT_EQ(text.status, 400);
    EXPECT_FALSE(text.body.empty());
    EXPECT_EQ(ask("POST", "/rtc/v1/whep/?app=live&stream=nobody",
                  "Content-Type: application/sdp\r\n", RtcPeer::offer("chromium-whep"))
                  .status,
              404);
    EXPECT_EQ(rtc_->sessions(), 0U);
}

}  // namespace
}  // namespace weir::session
