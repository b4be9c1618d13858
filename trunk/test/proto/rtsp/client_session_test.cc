#include "proto/rtsp/client_session.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "proto/http/digest_auth.h"

#include "test/support/counting_random.h"

namespace weir::rtsp {
namespace {

using Event = ClientEvent;

constexpr std::string_view kUrl = "rtsp://camera.example/live/cam";
constexpr std::string_view kSdp = "v=0\r\nm=video 0 RTP/AVP 96\r\n";

Transport tcp(uint8_t channel) {
    Transport offer;
    offer.tcp = true;
    offer.interleaved = ChannelPair{channel, static_cast<uint8_t>(channel + 1)};
    return offer;
}

Transport udp(uint16_t port) {
    Transport offer;
    offer.client_port = PortPair{port, static_cast<uint16_t>(port + 1)};
    return offer;
}

Transport multicast() {
    Transport offer;
    offer.multicast = true;
    return offer;
}

std::string frame_bytes(uint8_t channel, std::string_view payload) {
    const auto header = frame_header(channel, static_cast<uint16_t>(payload.size()));
    return std::string(header.begin(), header.end()).append(payload);
}

// The client, and a server that says what the test says.
class RtspClientTest : public testing::Test {
  protected:
    void make(std::string_view url = kUrl, bool allow_basic = true) {
        ClientOptions options;
        options.url = Url::parse(url).value();
        options.user_agent = "Weir";
        options.allow_basic = allow_basic;
        session_ = std::make_unique<ClientSession>(std::move(options), random_);
    }

    void play(std::string_view url = kUrl) {
        make(url);
        session_->play();
    }

    // The only request that the client has sent since the last call.
    Request asked() {
        const std::string output = session_->take_output();
        ByteSpan bytes = as_bytes(output);
        ConnectionReader reader;
        if (reader.next(bytes) != ConnectionReader::Status::kRequest) {
            ADD_FAILURE() << "no request: " << output;
            return {};
        }
        Request request = std::move(reader.request());
        EXPECT_TRUE(bytes.empty()) << "more than one request: " << output;
        EXPECT_TRUE(request.cseq);
        last_cseq_ = request.cseq.value_or(0);
        return request;
    }

    Request expect(Method method, std::string_view url = kUrl) {
        Request request = asked();
        EXPECT_EQ(to_string(request.method), to_string(method));
        EXPECT_EQ(request.url, url);
        return request;
    }

    // Frames that it brings are part of it.
    Event feed(std::string bytes) {
        input_ = std::move(bytes);
        ByteSpan rest = as_bytes(input_);
        const Event event = session_->next(now_, rest);
        left_ = as_text(rest);
        return event;
    }

    Event answer(int status, const http::Fields& fields = {}, std::string body = {}) {
        Response response;
        response.cseq = last_cseq_;
        response.status = status;
        response.headers = fields;
        response.body = std::move(body);
        return feed(write(response));
    }

    void describe(const http::Fields& fields = {}) {
        expect(Method::kOptions);
        ASSERT_EQ(answer(200, {{"Public", "DESCRIBE, SETUP, PLAY, GET_PARAMETER"}}),
                  Event::kNeedMore);
        const Request request = expect(Method::kDescribe);
        EXPECT_EQ(request.headers.get("Accept"), "application/sdp");
        ASSERT_EQ(answer(200, fields, std::string(kSdp)), Event::kDescribed);
        EXPECT_EQ(session_->description(), kSdp);
    }

    void start_over_tcp(std::string_view session = "12345678;timeout=60") {
        play();
        describe();
        session_->set_up({{"trackID=0", {tcp(0)}}}, "");
        expect(Method::kSetup, "rtsp://camera.example/live/cam/trackID=0");
        ASSERT_EQ(answer(200, {{"Session", std::string(session)},
                               {"Transport", "RTP/AVP/TCP;unicast;interleaved=0-1"}}),
                  Event::kNeedMore);
        expect(Method::kPlay);
        ASSERT_EQ(answer(200), Event::kStarted);
    }

    std::string error() { return session_->take_error().to_string(); }

    test::CountingRandom random_;
    std::unique_ptr<ClientSession> session_;
    MonoTime now_{Seconds(1000)};
    uint32_t last_cseq_ = 0;
    std::string input_;
    std::string left_;  // of the input
};

TEST_F(RtspClientTest, PlaysTwoTracksOverTcp) {
    play();
    describe();
    session_->set_up({{"trackID=0", {tcp(0)}}, {"trackID=1", {tcp(2)}}}, "*");
    Request request = expect(Method::kSetup, "rtsp://camera.example/live/cam/trackID=0");
    EXPECT_EQ(request.headers.get("Transport"), "RTP/AVP/TCP;unicast;interleaved=0-1");
    EXPECT_EQ(request.headers.get("Session"), std::nullopt);
    EXPECT_EQ(request.headers.get("User-Agent"), "Weir");
    ASSERT_EQ(answer(200, {{"Session", "abc;timeout=30"},
                           {"Transport", "RTP/AVP/TCP;unicast;interleaved=0-1"}}),
              Event::kNeedMore);
    request = expect(Method::kSetup, "rtsp://camera.example/live/cam/trackID=1");
    EXPECT_EQ(request.headers.get("Session"), "abc");
    // Other channels than those that were asked for.
    ASSERT_EQ(answer(200, {{"Session", "abc;timeout=30"},
                           {"Transport", "RTP/AVP/TCP;unicast;interleaved=6-7;ssrc=0"}}),
              Event::kNeedMore);
    request = expect(Method::kPlay);
    EXPECT_EQ(request.headers.get("Session"), "abc");
    EXPECT_EQ(request.headers.get("Range"), "npt=0.000-");
    ASSERT_EQ(answer(200, {{"RTP-Info", "url=trackID=0;seq=7"}}), Event::kStarted);
    EXPECT_EQ(session_->answer().headers.get("RTP-Info"), "url=trackID=0;seq=7");
    EXPECT_EQ(session_->session_timeout(), std::chrono::seconds(30));
    EXPECT_FALSE(session_->channel_use(2));
    EXPECT_EQ(session_->channel_use(6)->track, 1);
    EXPECT_FALSE(session_->channel_use(6)->rtcp);
    EXPECT_TRUE(session_->channel_use(1)->rtcp);
    ASSERT_EQ(feed(frame_bytes(6, "media")), Event::kFrame);
    EXPECT_EQ(as_text(session_->frame().payload), "media");
}

TEST_F(RtspClientTest, GivesTheSameEventsWhateverTheInputIsCutInto) {
    play();
    std::string seen;
    const auto give = [&](std::string bytes) {
        for (const char c : bytes) {
            std::string one(1, c);
            ByteSpan rest = as_bytes(one);
            while (!rest.empty() || one.empty()) {
                const Event event = session_->next(now_, rest);
                if (event == Event::kNeedMore) {
                    break;
                }
                seen += fmt::format("{} ", static_cast<int>(event));
                if (event == Event::kDescribed) {
                    break;
                }
            }
        }
    };
    give("RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n");
    give("RTSP/1.0 200 OK\r\nCSeq: 2\r\nContent-Length: 4\r\n\r\nv=0\n");
    ASSERT_EQ(session_->description(), "v=0\n");
    session_->set_up({{"a", {tcp(0)}}}, "");
    give("RTSP/1.0 200 OK\r\nCSeq: 3\r\nSession: 1\r\n\r\n");
    // Media before the answer to PLAY, and in the middle of it.
    give(frame_bytes(0, "early") + "RTSP/1.0 200 OK\r\n" + frame_bytes(0, "in") +
         "CSeq: 4\r\n\r\n" + frame_bytes(1, "after"));
    EXPECT_EQ(seen,
              fmt::format("{} {} {} {} {} ", static_cast<int>(Event::kDescribed),
                          static_cast<int>(Event::kFrame), static_cast<int>(Event::kFrame),
                          static_cast<int>(Event::kStarted), static_cast<int>(Event::kFrame)));
}

TEST_F(RtspClientTest, WaitsForItsOwnerAfterTheDescription) {
    play();
    expect(Method::kOptions);
    answer(200);
    expect(Method::kDescribe);
    const std::string more = frame_bytes(0, "x");
    ASSERT_EQ(feed("RTSP/1.0 200 OK\r\nCSeq: 2\r\nContent-Length: 3\r\n\r\nv=0" + more),
              Event::kDescribed);
    EXPECT_EQ(left_, more);
    EXPECT_EQ(feed(left_), Event::kDescribed);
    EXPECT_EQ(left_, more);
}

TEST_F(RtspClientTest, ResolvesControlsAgainstWhatTheAnswerSays) {
    struct Case {
        http::Fields fields;
        std::string_view session_control;
        std::string_view control;
        std::string_view set_up;
        std::string_view play;
    };

    const Case cases[] = {
        {{{"Content-Base", "rtsp://camera.example/base/"}},
         "",
         "trackID=0",
         "rtsp://camera.example/base/trackID=0",
         "rtsp://camera.example/base/"},
        {{{"Content-Location", "rtsp://camera.example/place"}},
         "*",
         "v",
         "rtsp://camera.example/place/v",
         "rtsp://camera.example/place"},
        {{},
         "",
         "rtsp://10.0.0.9:8554/live/cam/stream=0",  // the address behind the NAT
         "rtsp://camera.example/live/cam/stream=0",
         kUrl},
        {{{"Content-Base", "nonsense"}},
         "rtsp://camera.example/all",
         "",
         "rtsp://camera.example/all",
         "rtsp://camera.example/all"},
        {{}, "", "with blanks", kUrl, kUrl},
    };
    for (const Case& each : cases) {
        SCOPED_TRACE(each.control);
        play();
        describe(each.fields);
        session_->set_up({{std::string(each.control), {tcp(0)}}}, each.session_control);
        expect(Method::kSetup, each.set_up);
        answer(200, {{"Session", "1"}});
        expect(Method::kPlay, each.play);
    }
}

TEST_F(RtspClientTest, OffersTheNextTransportAfter461) {
    play();
    describe();
    session_->set_up(
        {{"a", {udp(5000), multicast(), tcp(0)}}, {"b", {udp(5002), multicast(), tcp(2)}}}, "");
    EXPECT_EQ(asked().headers.get("Transport"), "RTP/AVP;unicast;client_port=5000-5001");
    EXPECT_EQ(answer(461), Event::kNeedMore);
    EXPECT_EQ(asked().headers.get("Transport"), "RTP/AVP;multicast");
    EXPECT_EQ(answer(461), Event::kNeedMore);
    EXPECT_EQ(asked().headers.get("Transport"), "RTP/AVP/TCP;unicast;interleaved=0-1");
    EXPECT_EQ(answer(200, {{"Session", "1"}}), Event::kNeedMore);
    // The second track begins with what the first one has got.
    EXPECT_EQ(asked().headers.get("Transport"), "RTP/AVP/TCP;unicast;interleaved=2-3");
    EXPECT_EQ(answer(200, {{"Session", "1"}}), Event::kNeedMore);
    expect(Method::kPlay);
    EXPECT_TRUE(session_->transport(0)->tcp);
    EXPECT_EQ(session_->transport(1)->interleaved->rtp, 2);
}

TEST_F(RtspClientTest, SaysThatNoTransportIsLeft) {
    play();
    describe();
    session_->set_up({{"a", {udp(5000)}}}, "");
    expect(Method::kSetup, "rtsp://camera.example/live/cam/a");
    ASSERT_EQ(answer(461), Event::kError);
    EXPECT_EQ(error(), "unsupported: the server answers SETUP with 461 Unsupported Transport");
    EXPECT_EQ(feed("RTSP/1.0 200 OK\r\nCSeq: 9\r\n\r\n"), Event::kError);
}

TEST_F(RtspClientTest, ReadsAnswersOfCamerasToUdpAndMulticast) {
    play();
    describe();
    session_->set_up({{"a", {udp(5000)}}, {"b", {multicast()}}}, "");
    asked();
    // No server_port, a wrong ssrc, client_port of somebody else.
    answer(200, {{"Session", "1"},
                 {"Transport", "RTP/AVP;unicast;client_port=1-2;source=10.0.0.9;ssrc=zz"}});
    asked();
    answer(200, {{"Session", "1"},
                 {"Transport", "RTP/AVP;multicast;destination=239.1.2.3;port=6000-6001;ttl=8"}});
    expect(Method::kPlay);
    ASSERT_TRUE(session_->transport(0));
    EXPECT_EQ(session_->transport(0)->client_port, (PortPair{5000, 5001}));
    EXPECT_FALSE(session_->transport(0)->server_port);
    EXPECT_EQ(session_->transport(0)->source, "10.0.0.9");
    ASSERT_TRUE(session_->transport(1));
    EXPECT_EQ(session_->transport(1)->destination, "239.1.2.3");
    EXPECT_EQ(session_->transport(1)->port, (PortPair{6000, 6001}));
}

TEST_F(RtspClientTest, TakesATransportThatWasNotOfferedForARefusal) {
    play();
    describe();
    session_->set_up({{"a", {udp(5000), tcp(0)}}}, "");
    asked();
    EXPECT_EQ(answer(200, {{"Session", "1"}, {"Transport", "RTP/AVP/TCP;interleaved=0-1"}}),
              Event::kNeedMore);
    EXPECT_EQ(asked().headers.get("Transport"), "RTP/AVP/TCP;unicast;interleaved=0-1");
    // Without "/TCP", but with channels.
    EXPECT_EQ(answer(200, {{"Session", "1"}, {"Transport", "RTP/AVP;unicast;interleaved=0-1"}}),
              Event::kNeedMore);
    expect(Method::kPlay);
    EXPECT_TRUE(session_->transport(0)->tcp);
}

TEST_F(RtspClientTest, KeepsItsChannelsWhereTheServerGivesThemTwice) {
    play();
    describe();
    session_->set_up({{"a", {tcp(0)}}, {"b", {tcp(2)}}}, "");
    const http::Fields same = {{"Session", "1"},
                               {"Transport", "RTP/AVP/TCP;unicast;interleaved=0-1"}};
    asked();
    answer(200, same);
    asked();
    answer(200, same);
    EXPECT_EQ(session_->channel_use(0)->track, 0);
    EXPECT_EQ(session_->channel_use(2)->track, 1);
}

TEST_F(RtspClientTest, PlaysWithoutATrackThatCannotBeSetUp) {
    play();
    describe();
    session_->set_up({{"a", {tcp(0)}}, {"b", {tcp(2)}}}, "");
    asked();
    EXPECT_EQ(answer(404), Event::kNeedMore);
    asked();
    EXPECT_EQ(answer(200, {{"Session", "1"}}), Event::kNeedMore);
    expect(Method::kPlay);
    EXPECT_EQ(answer(200), Event::kStarted);
    EXPECT_FALSE(session_->transport(0));
    EXPECT_TRUE(session_->transport(1));
}

TEST_F(RtspClientTest, RefusesADescriptionWithoutTracks) {
    play();
    describe();
    session_->set_up({}, "");
    EXPECT_EQ(feed(""), Event::kError);
    EXPECT_EQ(error(), "unsupported: there is no track to set up");
}

TEST_F(RtspClientTest, PlaysWithoutARangeWhereItIsRefused) {
    play();
    describe();
    session_->set_up({{"a", {tcp(0)}}}, "");
    asked();
    answer(200, {{"Session", "1"}});
    EXPECT_TRUE(expect(Method::kPlay).headers.has("Range"));
    EXPECT_EQ(answer(457), Event::kNeedMore);
    EXPECT_FALSE(expect(Method::kPlay).headers.has("Range"));
    EXPECT_EQ(answer(457), Event::kError);
}

// ---- login ----

TEST_F(RtspClientTest, ShowsItsLoginWhenItIsAskedFor) {
    play("rtsp://admin:p%40ss@camera.example/live/cam");
    EXPECT_FALSE(expect(Method::kOptions).headers.has("Authorization"));
    answer(200);
    expect(Method::kDescribe);
    const http::Fields challenge = {
        {"WWW-Authenticate", "Digest realm=\"cam\", nonce=\"n1\", algorithm=SHA-256"},
        {"WWW-Authenticate", "Digest realm=\"cam\", nonce=\"n1\""}};
    ASSERT_EQ(answer(401, challenge), Event::kNeedMore);
    const Request request = expect(Method::kDescribe);
    const auto shown = http::parse_credentials(request.headers.get("Authorization").value_or(""));
    ASSERT_TRUE(shown);
    EXPECT_EQ(shown->uri, kUrl);
    EXPECT_EQ(shown->algorithm, http::DigestAlgorithm::kSha256);
    EXPECT_TRUE(http::verify(*shown, "cam", "p@ss", "DESCRIBE"));
    ASSERT_EQ(answer(200, {}, "v=0"), Event::kDescribed);
    session_->set_up({{"a", {tcp(0)}}}, "");
    EXPECT_TRUE(asked().headers.has("Authorization"));
    // The nonce has become too old, and the camera does not say so.
    ASSERT_EQ(answer(401, {{"WWW-Authenticate", "Digest realm=\"cam\", nonce=\"n2\""}}),
              Event::kNeedMore);
    EXPECT_NE(asked().headers.get("Authorization")->find("\"n2\""), std::string::npos);
}

TEST_F(RtspClientTest, SaysWhatIsWrongWithTheLogin) {
    constexpr std::string_view kDigest = "Digest realm=\"cam\", nonce=\"n1\"";
    const auto first = [&](std::string_view url, bool basic, std::string_view challenge) {
        make(url, basic);
        session_->play();
        asked();
        return answer(401, {{"WWW-Authenticate", std::string(challenge)}});
    };
    EXPECT_EQ(first(kUrl, true, kDigest), Event::kError);
    EXPECT_EQ(
        error(),
        "denied: the server asks for a login; expected USER:PASSWORD@ in front of the host of "
        "the URL");
    EXPECT_EQ(first("rtsp://a:b@camera.example/x", false, "Basic realm=\"cam\""), Event::kError);
    EXPECT_EQ(
        error(),
        "denied: the server asks for a login in a way that is not supported here; Digest with "
        "MD5 or SHA-256 is, and Basic over TLS");
    EXPECT_EQ(first("rtsp://a:b@camera.example/x", true, kDigest), Event::kNeedMore);
    asked();
    EXPECT_EQ(answer(401, {{"WWW-Authenticate", std::string(kDigest)}}), Event::kError);
    EXPECT_EQ(error(), "denied: the server does not take the user and password");
}

// ---- redirects ----

TEST_F(RtspClientTest, FollowsRedirectsUpToALimit) {
    play("rtsp://a:b@camera.example/live/cam");
    for (int i = 0; i < kMaxRedirects; i++) {
        expect(Method::kOptions, session_->url().full());
        answer(200);
        expect(Method::kDescribe, session_->url().full());
        ASSERT_EQ(answer(302, {{"Location", fmt::format("rtsp://camera.example/{}", i)}}),
                  Event::kRedirected);
        EXPECT_EQ(session_->url().full(), fmt::format("rtsp://camera.example/{}", i));
        EXPECT_EQ(session_->url().login.user, "a");
    }
    asked();
    EXPECT_EQ(answer(301, {{"Location", "rtsp://camera.example/9"}}), Event::kError);
    EXPECT_EQ(error(), "limit: more than 5 redirects");
}

TEST_F(RtspClientTest, GivesItsLoginToNoOtherServer) {
    const auto redirected = [&](std::string_view from, std::string_view to) {
        play(from);
        asked();
        EXPECT_EQ(answer(302, {{"Location", std::string(to)}}), Event::kRedirected);
        return session_->url().login.user;
    };
    EXPECT_EQ(redirected("rtsp://a:b@camera.example/x", "rtsp://other.example/x"), "");
    EXPECT_EQ(redirected("rtsps://a:b@camera.example/x", "rtsp://camera.example/x"), "");
    EXPECT_EQ(redirected("rtsp://a:b@camera.example/x", "rtsps://camera.example:8322/x"), "a");
    EXPECT_EQ(redirected("rtsp://a:b@camera.example/x", "rtsp://c:d@other.example/x"), "c");
    play("rtsp://a:b@camera.example/x");
    asked();
    EXPECT_EQ(answer(302, {{"Location", "/elsewhere"}}), Event::kError);
    EXPECT_EQ(error(), "malformed: a redirect without the URL of a stream");
}

// ---- answers of cameras ----

TEST_F(RtspClientTest, BearsAnswersWithoutCSeqAndSession) {
    play();
    asked();
    EXPECT_EQ(feed("RTSP/1.0 501 Not Implemented\r\n\r\n"), Event::kNeedMore);
    asked();
    EXPECT_EQ(feed("RTSP/1.0 200 OK\nCSeq: 77\nContent-Length: 3\n\nv=0"), Event::kDescribed);
    session_->set_up({{"a", {tcp(4)}}}, "");
    asked();
    EXPECT_EQ(feed("RTSP/1.0 200 OK\r\n\r\n"), Event::kNeedMore);
    EXPECT_FALSE(expect(Method::kPlay).headers.has("Session"));
    EXPECT_EQ(feed("RTSP/1.0 200 OK\r\n\r\n"), Event::kStarted);
    EXPECT_EQ(session_->channel_use(4)->track, 0);
}

TEST_F(RtspClientTest, WaitsBehind100Continue) {
    play();
    asked();
    EXPECT_EQ(feed("RTSP/1.0 100 Continue\r\nCSeq: 1\r\n\r\n"), Event::kNeedMore);
    EXPECT_FALSE(session_->has_output());
    EXPECT_EQ(answer(200), Event::kNeedMore);
    expect(Method::kDescribe);
}

TEST_F(RtspClientTest, TellsWhyAServerRefuses) {
    const auto refused = [&](int status) {
        play();
        asked();
        answer(200);
        asked();
        EXPECT_EQ(answer(status), Event::kError);
        return error();
    };
    EXPECT_EQ(refused(404), "not_found: the server answers DESCRIBE with 404 Not Found");
    EXPECT_EQ(refused(403), "denied: the server answers DESCRIBE with 403 Forbidden");
    EXPECT_EQ(refused(453), "full: the server answers DESCRIBE with 453 Not Enough Bandwidth");
    EXPECT_EQ(refused(551),
              "unsupported: the server answers DESCRIBE with 551 Option Not Supported");
    EXPECT_EQ(refused(200), "malformed: the server answers DESCRIBE without a description");
}

TEST_F(RtspClientTest, RefusesWhatIsNoRtsp) {
    play();
    EXPECT_EQ(feed("HTTP/1.1 400 Bad Request\r\n\r\n"), Event::kError);
    EXPECT_EQ(session_->take_error().code(), ErrorCode::kMalformed);
    play();
    EXPECT_EQ(feed(std::string(kMaxStartLine + 1, 'x')), Event::kError);
}

TEST_F(RtspClientTest, AnswersRequestsOfTheServer) {
    start_over_tcp();
    EXPECT_EQ(feed("OPTIONS * RTSP/1.0\r\nCSeq: 5\r\n\r\n"), Event::kNeedMore);
    EXPECT_EQ(session_->take_output(),
              "RTSP/1.0 200 OK\r\nCSeq: 5\r\nPublic: OPTIONS, TEARDOWN, GET_PARAMETER, "
              "SET_PARAMETER, REDIRECT\r\n\r\n");
    EXPECT_EQ(feed("SET_PARAMETER * RTSP/1.0\r\nCSeq: 6\r\n\r\n"), Event::kNeedMore);
    EXPECT_EQ(session_->take_output(), "RTSP/1.0 200 OK\r\nCSeq: 6\r\n\r\n");
    EXPECT_EQ(feed("PLAY * RTSP/1.0\r\nCSeq: 7\r\n\r\n"), Event::kNeedMore);
    EXPECT_EQ(session_->take_output(), "RTSP/1.0 501 Not Implemented\r\nCSeq: 7\r\n\r\n");
    EXPECT_EQ(feed("TEARDOWN * RTSP/1.0\r\nCSeq: 8\r\n\r\n"), Event::kEnded);
    EXPECT_FALSE(session_->next_timeout());
}

TEST_F(RtspClientTest, EndsWithAServerThatOnlyAsks) {
    start_over_tcp();
    std::string flood;
    for (size_t i = 0; i < kMaxClientOutput / 16; i++) {
        flood += "OPTIONS * RTSP/1.0\r\nCSeq: 5\r\n\r\n";
    }
    EXPECT_EQ(feed(flood), Event::kError);
    EXPECT_EQ(session_->take_error().code(), ErrorCode::kLimit);
}

// ---- keep-alive ----

TEST_F(RtspClientTest, KeepsTheSessionAlive) {
    start_over_tcp("77;timeout=20");
    ASSERT_TRUE(session_->next_timeout());
    EXPECT_EQ(*session_->next_timeout() - now_, Seconds(10));
    session_->handle_timeout(now_);
    EXPECT_FALSE(session_->has_output());
    now_ += Seconds(10);
    session_->handle_timeout(now_);
    EXPECT_EQ(expect(Method::kGetParameter).headers.get("Session"), "77");
    EXPECT_EQ(*session_->next_timeout() - now_, Seconds(10));
    EXPECT_EQ(answer(200), Event::kNeedMore);
    // One that is never answered stops nothing.
    now_ += Seconds(10);
    session_->handle_timeout(now_);
    expect(Method::kGetParameter);
    now_ += Seconds(10);
    session_->handle_timeout(now_);
    expect(Method::kGetParameter);
    ASSERT_TRUE(session_->pause());
    expect(Method::kPause);
    EXPECT_EQ(answer(200), Event::kPaused);
}

TEST_F(RtspClientTest, KeepsItAliveByOptionsWhereGetParameterIsRefused) {
    start_over_tcp();
    now_ += Seconds(30);
    session_->handle_timeout(now_);
    expect(Method::kGetParameter);
    EXPECT_EQ(answer(451), Event::kNeedMore);
    expect(Method::kOptions);
    EXPECT_EQ(answer(200), Event::kNeedMore);
    now_ += Seconds(30);
    session_->handle_timeout(now_);
    expect(Method::kOptions);
    EXPECT_EQ(answer(405), Event::kNeedMore);
    EXPECT_FALSE(session_->has_output());
}

TEST_F(RtspClientTest, LogsInAgainForAKeepAlive) {
    play("rtsp://a:b@camera.example/live/cam");
    describe();
    session_->set_up({{"a", {tcp(0)}}}, "");
    asked();
    answer(200, {{"Session", "1"}});
    asked();
    ASSERT_EQ(answer(200), Event::kStarted);
    now_ += Seconds(30);
    session_->handle_timeout(now_);
    asked();
    const http::Fields challenge = {{"WWW-Authenticate", "Digest realm=\"cam\", nonce=\"n1\""}};
    EXPECT_EQ(answer(401, challenge), Event::kNeedMore);
    EXPECT_TRUE(asked().headers.has("Authorization"));
    // A server that takes no login for this is asked in another way, once.
    EXPECT_EQ(answer(401, challenge), Event::kNeedMore);
    expect(Method::kOptions);
    EXPECT_EQ(answer(401, challenge), Event::kNeedMore);
    EXPECT_FALSE(session_->has_output());
}

// Cameras answer 454 to GET_PARAMETER though the session lives; media that stops is the owner's.
TEST_F(RtspClientTest, ARefusedKeepAliveIsNoEndOfTheSession) {
    start_over_tcp();
    for (int i = 0; i < 3; i++) {
        now_ += Seconds(30);
        session_->handle_timeout(now_);
        while (session_->has_output()) {
            asked();
            EXPECT_EQ(answer(454), Event::kNeedMore);
        }
    }
    EXPECT_GT(session_->next_timeout(), now_);
}

TEST_F(RtspClientTest, APullGoesOnAfterAnyAnswerToItsKeepAlives) {
    for (const int status : {302, 400, 401, 404, 405, 451, 454, 455, 500, 501, 551}) {
        SCOPED_TRACE(status);
        start_over_tcp();
        now_ += Seconds(30);
        session_->handle_timeout(now_);
        expect(Method::kGetParameter);
        EXPECT_EQ(answer(status), Event::kNeedMore);
        if (status >= 400) {
            expect(Method::kOptions);
            EXPECT_EQ(answer(status), Event::kNeedMore);
        }
        EXPECT_FALSE(session_->has_output());
        EXPECT_EQ(feed(frame_bytes(0, "media")), Event::kFrame);
        now_ += Seconds(30);
        session_->handle_timeout(now_);
        expect(status >= 400 ? Method::kOptions : Method::kGetParameter);
        EXPECT_TRUE(session_->started());
    }
}

// Nothing that comes back would tell a publisher by UDP that its session is gone.
TEST_F(RtspClientTest, APublisherWithoutItsSessionEnds) {
    make();
    session_->publish(std::string(kSdp), {{"a", {udp(5000)}}});
    expect(Method::kOptions);
    answer(200, {{"Public", "GET_PARAMETER"}});
    expect(Method::kAnnounce);
    answer(200);
    asked();
    answer(200, {{"Session", "1"}});
    expect(Method::kRecord);
    ASSERT_EQ(answer(200), Event::kStarted);
    now_ += Seconds(30);
    session_->handle_timeout(now_);
    expect(Method::kGetParameter);
    EXPECT_EQ(answer(454), Event::kNeedMore);
    expect(Method::kOptions);
    EXPECT_EQ(answer(454), Event::kError);
    EXPECT_EQ(session_->take_error().code(), ErrorCode::kClosed);
}

TEST_F(RtspClientTest, BoundsTheTimeBetweenKeepAlives) {
    start_over_tcp("1;timeout=1");
    EXPECT_EQ(*session_->next_timeout() - now_, Seconds(1));
    start_over_tcp("1;timeout=86400");
    EXPECT_EQ(*session_->next_timeout() - now_, Seconds(300));
}

// ---- pause, the end ----

TEST_F(RtspClientTest, SendsFramesBetweenItsRequests) {
    start_over_tcp();
    EXPECT_TRUE(session_->is_set_up());
    session_->send_frame(1, as_bytes("report"));
    EXPECT_EQ(session_->take_output(), frame_bytes(1, "report"));
}

TEST_F(RtspClientTest, PausesAndGoesOn) {
    start_over_tcp();
    EXPECT_FALSE(session_->resume());
    ASSERT_TRUE(session_->pause());
    EXPECT_FALSE(session_->pause());
    expect(Method::kPause);
    EXPECT_EQ(feed(frame_bytes(0, "late")), Event::kFrame);
    EXPECT_EQ(answer(200), Event::kPaused);
    ASSERT_TRUE(session_->resume());
    EXPECT_FALSE(expect(Method::kPlay).headers.has("Range"));
    EXPECT_EQ(answer(200), Event::kStarted);
    EXPECT_TRUE(session_->started());
}

TEST_F(RtspClientTest, TearsDownOnce) {
    play();
    session_->take_output();
    session_->teardown();
    EXPECT_FALSE(session_->has_output());  // there is nothing yet
    start_over_tcp();
    session_->teardown();
    EXPECT_EQ(expect(Method::kTeardown).headers.get("Session"), "12345678");
    session_->teardown();
    EXPECT_FALSE(session_->has_output());
    EXPECT_FALSE(session_->next_timeout());
    EXPECT_EQ(answer(200), Event::kEnded);
}

// ---- publish ----

TEST_F(RtspClientTest, PublishesTwoTracks) {
    make("rtsp://a:b@camera.example/live/cam");
    session_->publish(std::string(kSdp), {{"trackID=0", {tcp(0)}}, {"trackID=1", {tcp(2)}}});
    expect(Method::kOptions);
    answer(200);
    Request request = expect(Method::kAnnounce);
    EXPECT_EQ(request.body, kSdp);
    EXPECT_EQ(request.headers.get("Content-Type"), "application/sdp");
    answer(401, {{"WWW-Authenticate", "Digest realm=\"cam\", nonce=\"n1\""}});
    request = expect(Method::kAnnounce);
    EXPECT_EQ(request.body, kSdp);
    EXPECT_TRUE(request.headers.has("Authorization"));
    answer(200);
    request = expect(Method::kSetup, "rtsp://camera.example/live/cam/trackID=0");
    EXPECT_EQ(request.headers.get("Transport"), "RTP/AVP/TCP;unicast;interleaved=0-1;mode=record");
    answer(200, {{"Session", "1"}, {"Transport", "RTP/AVP/TCP;unicast;interleaved=0-1"}});
    expect(Method::kSetup, "rtsp://camera.example/live/cam/trackID=1");
    answer(200, {{"Session", "1"}, {"Transport", "RTP/AVP/TCP;unicast;interleaved=2-3"}});
    request = expect(Method::kRecord);
    EXPECT_EQ(request.headers.get("Session"), "1");
    EXPECT_EQ(answer(200), Event::kStarted);
    EXPECT_TRUE(session_->next_timeout());
}

TEST_F(RtspClientTest, PublishesAllTracksOrNone) {
    make();
    session_->publish(std::string(kSdp), {{"a", {tcp(0)}}, {"b", {tcp(2)}}});
    asked();
    answer(200);
    asked();
    answer(200);
    asked();
    answer(200, {{"Session", "1"}});
    asked();
    EXPECT_EQ(answer(404), Event::kError);
}

TEST_F(RtspClientTest, PublishesWhereItIsSentTo) {
    make();
    session_->publish(std::string(kSdp), {{"a", {tcp(0)}}});
    asked();
    answer(200);
    expect(Method::kAnnounce);
    answer(200);
    expect(Method::kSetup, "rtsp://camera.example/live/cam/a");
    ASSERT_EQ(answer(301, {{"Location", "rtsp://other.example/x"}}), Event::kRedirected);
    expect(Method::kOptions, "rtsp://other.example/x");
    answer(200);
    EXPECT_EQ(expect(Method::kAnnounce, "rtsp://other.example/x").body, kSdp);
    answer(200);
    expect(Method::kSetup, "rtsp://other.example/x/a");
}

}  // namespace
}  // namespace weir::rtsp
