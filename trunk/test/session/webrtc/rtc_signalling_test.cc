// WHIP and WHEP over HTTP: statuses, headers and the resource of a session.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/webrtc/rtc_routes.h"

#include "test/session/webrtc/rtc_world.h"

namespace weir::session {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kWhip = "/rtc/v1/whip/?app=live&stream=a";
constexpr std::string_view kWhep = "/rtc/v1/whep/?app=live&stream=a";
constexpr std::string_view kSdp = "application/sdp";
constexpr std::string_view kFragmentType = "application/trickle-ice-sdpfrag";

struct Response {
    int status = 0;
    std::string head;
    std::string body;

    // Of the first header of that name; empty without one.
    std::string header(std::string_view name) const {
        for (size_t at = head.find("\r\n"); at != std::string::npos; at = head.find("\r\n", at)) {
            at += 2;
            const size_t colon = head.find(':', at);
            if (colon == std::string::npos) {
                break;
            }
            const bool same = std::ranges::equal(
                head.substr(at, colon - at), name,
                [](char a, char b) { return std::tolower(a) == std::tolower(b); });
            if (same) {
                const size_t value = head.find_first_not_of(' ', colon + 1);
                return head.substr(value, head.find("\r\n", value) - value);
            }
        }
        return {};
    }
};

std::string ice_fragment(std::string_view ufrag) {
    return fmt::format(
        "a=ice-ufrag:{}\r\na=ice-pwd:0123456789abcdefghijklmn\r\nm=audio 9 RTP/AVP "
        "0\r\na=mid:0\r\n",
        ufrag);
}

class RtcSignallingTest : public RtcWorld {
  protected:
    void start(RtcServerOptions options = {}) {
        start_rtc(std::move(options));
        routes_ = std::make_unique<RtcRoutes>(services_, *rtc_, std::vector<IceServer>());
        routes_->add_to(router_);
        start_http();
    }

    // Yields.
    Response ask(std::string_view method,
                 std::string_view target,
                 std::string_view type = {},
                 std::string_view body = {},
                 std::string_view more = {}) {
        auto stream = io::TcpStream::connect(http_address_, io::soon());
        WEIR_CHECK(stream.ok());
        std::string request = fmt::format(
            "{} {} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: {}\r\n{}", method,
            target, body.size(), more);
        if (!type.empty()) {
            request += fmt::format("Content-Type: {}\r\n", type);
        }
        Error error =
            (*stream)->write_all(as_bytes(request + "\r\n" + std::string(body)), io::soon());
        EXPECT_FALSE(error) << error.to_string();
        std::string text;
        Bytes buffer(16 * 1024);
        EXPECT_TRUE(io::eventually([&] {
            for (;;) {
                const io::IoResult got = (*stream)->try_read(buffer);
                if (got.status == io::IoStatus::kWouldBlock) {
                    return false;
                }
                if (got.status != io::IoStatus::kDone) {
                    return true;
                }
                text.append(reinterpret_cast<const char*>(buffer.data()), got.bytes);
            }
        })) << method
            << ' ' << target;
        Response response;
        const size_t end = text.find("\r\n\r\n");
        if (text.size() < 12 || end == std::string::npos) {
            ADD_FAILURE() << "no response: " << text;
            return response;
        }
        response.status = std::stoi(text.substr(9, 3));
        response.head = text.substr(0, end + 2);
        response.body = text.substr(end + 4);
        return response;
    }

    Response whip(std::string_view name = "a") {
        return ask("POST", fmt::format("/rtc/v1/whip/?app=live&stream={}", name), kSdp,
                   RtcPeer::offer("chromium-whip"));
    }

    std::unique_ptr<RtcRoutes> routes_;
};

TEST_F(RtcSignallingTest, OfferIsAnsweredWithAResource) {
    start();
    const Response made = whip();
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(made.header("Content-Type"), kSdp);
    EXPECT_THAT(made.header("Location"), StartsWith("/rtc/v1/session/"));
    EXPECT_THAT(made.header("ETag"), StartsWith("\""));
    EXPECT_THAT(made.header("Accept-Patch"), HasSubstr(std::string(kFragmentType)));
    EXPECT_THAT(made.body, StartsWith("v=0\r\n"));
    EXPECT_THAT(made.body, HasSubstr("a=ice-lite"));
    EXPECT_EQ(rtc_->sessions(), 1U);
    // The id is nothing to be guessed.
    EXPECT_GE(made.header("Location").size(), std::string("/rtc/v1/session/").size() + 20);

    RtcPeer peer(rtc_address_);
    peer.take_answer(made.body);
    EXPECT_TRUE(peer.connect());

    TestPublisher publisher(stream("b"));
    publisher.config();
    publisher.gop();
    const Response play = ask("POST", "/rtc/v1/whep/?app=live&stream=b",
                              "Application/SDP; charset=utf-8", RtcPeer::offer("chromium-whep"));
    EXPECT_EQ(play.status, 201) << play.body;
    publisher.end();
    rtc_->find(std::string(play.header("Location")).substr(16))
        ->end(net::EndClass::kKicked, "the test");
    EXPECT_TRUE(io::eventually([&] { return registry_.find(key("b")) == nullptr; }));
}

TEST_F(RtcSignallingTest, OfferThatIsNoneIsRefused) {
    start();
    const std::string offer = RtcPeer::offer("chromium-whip");
    for (const char* path : {"whip", "whep"}) {
        const std::string target = fmt::format("/rtc/v1/{}/?app=live&stream=a", path);
        const Response typeless = ask("POST", target, {}, offer);
        EXPECT_EQ(typeless.status, 415);
        EXPECT_THAT(typeless.body, HasSubstr("application/sdp"));
        EXPECT_EQ(ask("POST", target, "application/json", "{}").status, 415);
        const Response nameless =
            ask("POST", fmt::format("/rtc/v1/{}/?app=live", path), kSdp, offer);
        EXPECT_EQ(nameless.status, 400);
        EXPECT_THAT(nameless.body, HasSubstr("?app="));
        const std::string longest =
            fmt::format("/rtc/v1/{}/?app=live&stream={}", path, std::string(1025, 'x'));
        EXPECT_EQ(ask("POST", longest, kSdp, offer).status, 400);
        const Response empty = ask("POST", target, kSdp, "");
        EXPECT_EQ(empty.status, 400);
        EXPECT_EQ(ask("POST", target, kSdp, "v=0\r\nwhat is this\r\n").status, 400);
        EXPECT_EQ(ask("GET", target).status, 405);
        EXPECT_EQ(ask("DELETE", target).status, 405);
        EXPECT_EQ(ask("PATCH", target, kFragmentType, ice_fragment("abcd")).status, 405);
    }
    EXPECT_EQ(rtc_->sessions(), 0U);
    EXPECT_EQ(clients_.size(), 0U);
}

TEST_F(RtcSignallingTest, OfferWithoutACommonCodecIs422WithTheReason) {
    start();
    std::string offer = RtcPeer::offer("chromium-whip");
    for (const char* codec : {"VP8", "VP9", "H264", "AV1", "H265", "opus", "PCMU", "PCMA"}) {
        if (offer.find(std::string(" ") + codec + "/") != std::string::npos) {
            offer = sdp::test::replaced(offer, std::string(" ") + codec + "/", " nonesuch/");
        }
    }
    const Response refused = ask("POST", kWhip, kSdp, offer);
    EXPECT_EQ(refused.status, 422) << refused.body;
    EXPECT_THAT(refused.body, HasSubstr("codec"));
    EXPECT_EQ(rtc_->sessions(), 0U);
}

TEST_F(RtcSignallingTest, WhatIsNotAllowedBusyFullOrNotThereHasItsStatus) {
    RtcServerOptions options;
    options.max_sessions = 1;
    start(options);
    const std::string offer = RtcPeer::offer("chromium-whip");
    EXPECT_EQ(ask("POST", "/rtc/v1/whip/?app=closed&stream=a", kSdp, offer).status, 403);
    EXPECT_EQ(ask("POST", "/rtc/v1/whep/?app=closed&stream=a", kSdp, offer).status, 403);
    const Response nobody = ask("POST", kWhep, kSdp, RtcPeer::offer("chromium-whep"));
    EXPECT_EQ(nobody.status, 404);
    EXPECT_THAT(nobody.body, HasSubstr("nobody publishes"));
    {
        TestPublisher publisher(stream());
        const Response busy = whip();
        EXPECT_EQ(busy.status, 409);
        EXPECT_THAT(busy.body, HasSubstr("being published by another client"));
        EXPECT_THAT(busy.body, testing::Not(HasSubstr(publisher.describe())));
    }
    ASSERT_EQ(whip("b").status, 201);
    const Response full = whip("c");
    EXPECT_EQ(full.status, 503);
    EXPECT_THAT(full.body, HasSubstr("limit"));
}

TEST_F(RtcSignallingTest, StreamWithReferencedBFramesIs422WithTheOptionOfTheEncoder) {
    start();
    TestPublisher publisher(stream());
    publisher.config(test::kAvcHighConfig);
    publisher.gop(3);
    publisher.video(Picture::kReferencedB);
    const Response refused = ask("POST", kWhep, kSdp, RtcPeer::offer("chromium-whep"));
    EXPECT_EQ(refused.status, 422);
    EXPECT_THAT(refused.body, HasSubstr("bframes=0"));
}

TEST_F(RtcSignallingTest, DeleteEndsTheSessionOnce) {
    start();
    const Response made = whip();
    ASSERT_EQ(made.status, 201);
    const std::string location = made.header("Location");
    EXPECT_EQ(ask("DELETE", location).status, 200);
    EXPECT_EQ(rtc_->sessions(), 0U);
    EXPECT_EQ(ask("DELETE", location).status, 404);
    EXPECT_EQ(ask("PATCH", location, kFragmentType, ice_fragment("abcd")).status, 404);
    EXPECT_EQ(ask("DELETE", "/rtc/v1/session/").status, 404);
    EXPECT_EQ(ask("DELETE", "/rtc/v1/session").status, 404);
    EXPECT_EQ(ask("DELETE", "/rtc/v1/session/" + std::string(500, 'a')).status, 404);
    EXPECT_TRUE(io::eventually([] { return live_objects("rtc_session") == 0; }));
}

TEST_F(RtcSignallingTest, PatchTakesCandidatesAndRestartsIce) {
    start();
    const Response made = whip();
    ASSERT_EQ(made.status, 201);
    const std::string location = made.header("Location");
    const std::string etag = made.header("ETag");
    const std::string ufrag = sdp_value(RtcPeer::offer("chromium-whip"), "a=ice-ufrag:");
    const std::string candidate =
        ice_fragment(ufrag) +
        "a=candidate:1 1 udp 2122194687 192.0.2.2 41312 typ host\r\na=end-of-candidates\r\n";
    const auto match = [](std::string_view tag) { return fmt::format("If-Match: {}\r\n", tag); };

    EXPECT_EQ(ask("PATCH", location, kSdp, candidate).status, 415);
    EXPECT_EQ(ask("PATCH", location, kFragmentType, "not a fragment", match(etag)).status, 400);
    EXPECT_EQ(ask("PATCH", location, kFragmentType, candidate, match("\"other\"")).status, 412);
    EXPECT_EQ(ask("PATCH", location, kFragmentType, candidate, match(etag)).status, 204);
    EXPECT_EQ(ask("PATCH", location, kFragmentType, candidate).status, 204);
    EXPECT_EQ(ask("PATCH", location, kFragmentType, ice_fragment("restart1")).status, 428);

    const Response again =
        ask("PATCH", location, kFragmentType, ice_fragment("restart1"), match("\"*\""));
    ASSERT_EQ(again.status, 200) << again.body;
    EXPECT_EQ(again.header("Content-Type"), kFragmentType);
    EXPECT_NE(again.header("ETag"), etag);
    EXPECT_NE(sdp_value(again.body, "a=ice-ufrag:"), sdp_value(made.body, "a=ice-ufrag:"));
    EXPECT_EQ(ask("PATCH", location, kFragmentType, candidate, match(etag)).status, 412);
    EXPECT_EQ(ask("PUT", location, kFragmentType, candidate).status, 405);
    EXPECT_EQ(ask("GET", location).status, 405);
}

TEST_F(RtcSignallingTest, BrowsersOfOtherPagesMayAsk) {
    start();
    const std::string origin = "Origin: https://example.net\r\n";
    const Response preflight = ask("OPTIONS", kWhip, {}, {},
                                   origin +
                                       "Access-Control-Request-Method: POST\r\n"
                                       "Access-Control-Request-Headers: content-type\r\n");
    EXPECT_TRUE(preflight.status == 204 || preflight.status == 200) << preflight.status;
    EXPECT_FALSE(preflight.header("Access-Control-Allow-Origin").empty());
    EXPECT_THAT(preflight.header("Access-Control-Allow-Methods"), HasSubstr("POST"));
    const Response made = ask("POST", kWhip, kSdp, RtcPeer::offer("chromium-whip"), origin);
    ASSERT_EQ(made.status, 201);
    EXPECT_FALSE(made.header("Access-Control-Allow-Origin").empty());
    // A page cannot end its session without the Location.
    EXPECT_THAT(made.header("Access-Control-Expose-Headers"), HasSubstr("Location"));
    const Response manage = ask("OPTIONS", made.header("Location"), {}, {},
                                origin + "Access-Control-Request-Method: DELETE\r\n");
    EXPECT_THAT(manage.header("Access-Control-Allow-Methods"), HasSubstr("DELETE"));
    EXPECT_THAT(manage.header("Access-Control-Allow-Methods"), HasSubstr("PATCH"));
}

TEST_F(RtcSignallingTest, PlayerThatWaitsForCodecsIsToldWhenThereAreNone) {
    start();
    TestPublisher publisher(stream());
    // Somebody publishes what WebRTC does not carry, and nothing else comes.
    publisher.send(media::TrackKind::kData, test::metadata(1));
    const Response refused = ask("POST", kWhep, kSdp, RtcPeer::offer("chromium-whep"));
    EXPECT_EQ(refused.status, 422) << refused.body;
    EXPECT_THAT(refused.body, HasSubstr("nothing that WebRTC carries"));
}

}  // namespace
}  // namespace weir::session
