#include "proto/sip/registration.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "proto/http/digest_auth.h"

#include "test/support/counting_random.h"

namespace weir::sip {
namespace {

using State = Registration::State;

RegistrationOptions options_with(size_t servers) {
    RegistrationOptions out;
    out.registrar = "sip:pbx";
    out.aor = "sip:weir@pbx";
    out.contact_user = "weir";
    out.login = {"weir", "secret"};
    for (size_t i = 0; i < servers; i++) {
        out.servers.push_back({Transport::kUdp, 1,
                               NetAddress::from_v4({192, 0, 2, static_cast<uint8_t>(i + 1)}, 5060),
                               *NetAddress::parse("203.0.113.1:5060")});
    }
    return out;
}

class RegistrationTest : public testing::Test {
  protected:
    explicit RegistrationTest(size_t servers = 1) : line(options_with(servers), random) {}

    // The last octet of the server that is asked; 0: nobody.
    int asked() {
        const auto out = line.poll_request();
        if (!out) {
            return 0;
        }
        request = out->request;
        return out->flow.remote.v4()[3];
    }

    void answer(int status, const http::Fields& headers = {}) {
        Response response;
        response.status = status;
        response.headers = headers;
        line.on_response(now, response);
    }

    // What is asked at the next time.
    int asked_later(Millis& waited) {
        const MonoTime at = line.next_timeout().value();
        waited = std::chrono::duration_cast<Millis>(at - now);
        now = at;
        line.handle_timeout(now);
        return asked();
    }

    test::CountingRandom random;
    Registration line;
    MonoTime now{Seconds(50)};
    Request request;
    Millis pause{0};
};

class TwoServersTest : public RegistrationTest {
  protected:
    TwoServersTest() : RegistrationTest(2) {}
};

TEST_F(RegistrationTest, RegistersAndRefreshes) {
    line.start(now);
    EXPECT_EQ(line.state(), State::kTrying);
    EXPECT_EQ(asked(), 1);
    EXPECT_EQ(asked(), 0);
    EXPECT_EQ(request.uri, "sip:pbx");
    EXPECT_EQ(request.header("To"), "<sip:weir@pbx>");
    EXPECT_EQ(request.header("Contact"), "<sip:weir@203.0.113.1:5060>;expires=300");
    const std::string call_id(request.header("Call-ID"));
    answer(200, {{"Contact", "<sip:x@y>;expires=7, <sip:weir@203.0.113.1:5060>;expires=100"}});
    EXPECT_EQ(line.state(), State::kRegistered);
    EXPECT_EQ(line.expires_at(), now + Seconds(100));
    EXPECT_EQ(asked_later(pause), 1);
    EXPECT_EQ(pause, Seconds(80));
    EXPECT_EQ(request.header("Call-ID"), call_id);
    EXPECT_EQ(request.header("CSeq"), "2 REGISTER");
    EXPECT_EQ(line.state(), State::kRegistered);
}

TEST_F(RegistrationTest, AnswersAChallenge) {
    line.start(now);
    asked();
    http::Challenge challenge;
    challenge.realm = "pbx";
    challenge.nonce = "n1";
    challenge.qop_auth = true;
    answer(401, {{"WWW-Authenticate", http::write(challenge)}});
    EXPECT_EQ(asked(), 1);
    const auto shown = http::parse_credentials(request.header("Authorization"));
    ASSERT_TRUE(shown);
    EXPECT_TRUE(http::verify(*shown, "pbx", "secret", "REGISTER"));
    EXPECT_EQ(shown->uri, "sip:pbx");
    answer(200);
    EXPECT_EQ(line.state(), State::kRegistered);
    asked_later(pause);
    EXPECT_EQ(http::parse_credentials(request.header("Authorization"))->nc, "00000002");
}

TEST_F(RegistrationTest, WaitsAfterAWrongPassword) {
    line.start(now);
    asked();
    http::Challenge challenge;
    challenge.nonce = "n1";
    answer(401, {{"WWW-Authenticate", http::write(challenge)}});
    asked();
    answer(401, {{"WWW-Authenticate", http::write(challenge)}});
    EXPECT_EQ(asked(), 0);
    EXPECT_EQ(line.state(), State::kFailed);
    EXPECT_EQ(line.last_status(), 401);
}

TEST_F(RegistrationTest, TakesALongerTimeWhereItMust) {
    line.start(now);
    asked();
    answer(423, {{"Min-Expires", "900"}});
    EXPECT_EQ(asked(), 1);
    EXPECT_EQ(request.header("Expires"), "900");
    answer(423, {{"Min-Expires", "900"}});  // the same again makes no loop
    EXPECT_EQ(asked(), 0);
}

TEST_F(RegistrationTest, WaitsLongerAfterEachFailure) {
    line.start(now);
    asked();
    line.on_failed(now, 408);
    EXPECT_EQ(line.state(), State::kFailed);
    Millis longest{0};
    for (int i = 0; i < 20; i++) {
        EXPECT_EQ(asked_later(pause), 1);
        EXPECT_GE(pause, i < 6 ? Seconds(15) * (1 << i) : Seconds(900));
        EXPECT_LE(pause, i < 6 ? Seconds(30) * (1 << i) : Seconds(1800));
        longest = std::max(longest, pause);
        line.on_failed(now, 408);
    }
    EXPECT_GE(longest, Seconds(900));
}

TEST_F(RegistrationTest, WaitsAsLongAsTheServerSays) {
    line.start(now);
    asked();
    answer(503, {{"Retry-After", "3000"}});
    asked_later(pause);
    EXPECT_EQ(pause, Seconds(3000));
}

TEST_F(TwoServersTest, GoesToTheNextServer) {
    line.start(now);
    EXPECT_EQ(asked(), 1);
    line.on_failed(now, 503);
    EXPECT_EQ(asked(), 2);
    answer(200);
    EXPECT_EQ(line.server().remote.v4()[3], 2);
    EXPECT_EQ(asked_later(pause), 2);
    line.on_failed(now, 408);
    EXPECT_EQ(asked(), 1);
    EXPECT_EQ(line.state(), State::kRegistered);  // the binding still stands
    line.on_failed(now, 408);
    EXPECT_EQ(line.state(), State::kRegistered);
    asked_later(pause);
    now += Seconds(300);
    line.handle_timeout(now);
    EXPECT_NE(line.state(), State::kRegistered);
}

TEST_F(RegistrationTest, LogsOut) {
    line.start(now);
    asked();
    answer(200);
    line.stop(now);
    EXPECT_EQ(line.state(), State::kEnding);
    EXPECT_EQ(asked(), 1);
    EXPECT_EQ(request.header("Expires"), "0");
    answer(200);
    EXPECT_EQ(line.state(), State::kEnded);
    EXPECT_FALSE(line.next_timeout());
}

TEST_F(RegistrationTest, LogsOutAfterTheRequestThatIsUnderWay) {
    line.start(now);
    asked();
    line.stop(now);
    EXPECT_EQ(asked(), 0);
    answer(200);
    EXPECT_EQ(asked(), 1);
    EXPECT_EQ(request.header("Expires"), "0");
    line.on_failed(now, 408);
    EXPECT_EQ(line.state(), State::kEnded);
}

TEST_F(RegistrationTest, EndsAtOnceWhereItIsNotRegistered) {
    line.start(now);
    line.stop(now);
    EXPECT_EQ(line.state(), State::kEnded);
    EXPECT_EQ(asked(), 0);
}

}  // namespace
}  // namespace weir::sip
