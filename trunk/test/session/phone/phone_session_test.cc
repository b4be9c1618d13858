// A page that is a telephone, from its WebSocket to the line, and who may use the streams of it.
#include "session/phone/phone_session.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/admission.h"
#include "session/phone/phone_server.h"

#include "test/session/fake_phone_lines.h"
#include "test/session/phone/phone_page.h"
#include "test/session/world.h"

namespace weir::session {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class FakeBook final : public PhoneBook {
  public:
    bool proves(std::string_view user, std::string_view password) const override {
        asked++;
        return (user == "alice" || user == "bob") && password == "secret";
    }

    std::vector<PhoneBookEntry> entries(std::string_view user) const override {
        return {{"100", "stream", "live/stage", true},
                {std::string(user) + "'s friend", "user", "carol", false}};
    }

    mutable size_t asked = 0;
};

// What a path of the page says.
struct Address {
    explicit Address(const std::string& path) {
        const auto value = [&](std::string_view name) {
            const size_t at = path.find(std::string(name) + "=");
            const size_t begin = at + name.size() + 1;
            return at == std::string::npos ? "" : path.substr(begin, path.find('&', begin) - begin);
        };
        app = value("app");
        stream = value("stream");
        key = value("key");
    }

    std::string app;
    std::string stream;
    std::string key;
};

class PhoneSessionTest : public World {
  protected:
    PhoneSessionTest() {
        services_.phones = &place_;
        services_.private_streams = &private_streams_;
        place_.set(&lines_);
        server_ = std::make_unique<PhoneServer>(services_, book_);
        options_phone_.enabled = true;
        server_->reconfigure(options_phone_);
        server_->add_to(router_);
        start_http();
    }

    ~PhoneSessionTest() override { stop(); }

    std::unique_ptr<PhonePage> page(std::string_view more = "") {
        return std::make_unique<PhonePage>(http_address_, more);
    }

    FakePhoneLines::Line& line() { return *lines_.open_lines.back(); }

    // With a line that is ready.
    std::unique_ptr<PhonePage> ready(std::string_view user = "alice") {
        auto made = page();
        const size_t before = lines_.open_lines.size();
        made->open(user);
        EXPECT_TRUE(io::eventually([&] { return lines_.open_lines.size() > before; }));
        line().observer().on_line_ready();
        EXPECT_TRUE(made->hears("ready"));
        return made;
    }

    Error publish(const std::string& app, const std::string& stream, std::string_view token) {
        net::Admission admission(services_);
        const stream::StreamKey key = policy_.key_of("", app, stream);
        auto admitted = admission.publish(
            {.access = {
                 .key = key, .peer = io::loopback(), .token = token, .transport = "webrtc"}});
        return admitted.ok() ? Error() : admitted.take_error();
    }

    Error play(const std::string& app,
               const std::string& stream,
               std::string_view token,
               bool has_line = false) {
        net::Admission admission(services_);
        const stream::StreamKey key = policy_.key_of("", app, stream);
        auto admitted = admission.play(
            {.access = {.key = key, .peer = io::loopback(), .token = token, .transport = "flv"},
             .has_line = has_line});
        return admitted.ok() ? Error() : admitted.take_error();
    }

    FakePhoneLines lines_;
    net::PhoneLinesPlace place_;
    net::PrivateStreams private_streams_;
    FakeBook book_;
    PhoneServerOptions options_phone_;
    std::unique_ptr<PhoneServer> server_;
};

TEST_F(PhoneSessionTest, ALineIsOpenedAndToldWhereItsMediaGoes) {
    auto alice = page();
    alice->say(R"({"do":"open","user":"alice","password":"secret","display":"Alice"})");
    ASSERT_TRUE(io::eventually([&] { return !lines_.open_lines.empty(); }));
    const net::PhoneLineRequest& asked = line().request();
    EXPECT_EQ(asked.user, "alice");
    EXPECT_EQ(asked.password, "secret");
    EXPECT_EQ(asked.domain, "");
    EXPECT_EQ(asked.display, "Alice");
    EXPECT_EQ(asked.peer.ip_text(), "127.0.0.1");
    line().observer().on_line_ready();
    ASSERT_TRUE(alice->hears("ready"));
    EXPECT_EQ(alice->event["user"], "alice");
    const Address whip(alice->event["whip"]);
    const Address whep(alice->event["whep"]);
    EXPECT_EQ(whip.app, asked.local.app);
    EXPECT_EQ(whip.stream, "local");
    EXPECT_EQ(whep.app, asked.remote.app);
    EXPECT_EQ(whep.stream, "remote");
    EXPECT_GE(whip.key.size(), 26U);
    EXPECT_EQ(server_->size(), 1U);
    EXPECT_EQ(clients_.size(), 1U);

    alice->close();
    EXPECT_TRUE(io::eventually([&] { return server_->size() == 0; }));
    EXPECT_THAT(lines_.asked, ElementsAre("close alice"));
    EXPECT_EQ(clients_.size(), 0U);
    EXPECT_TRUE(logged("phone line user=alice"));
    EXPECT_FALSE(logged("secret"));
    EXPECT_FALSE(logged(whip.key));
}

TEST_F(PhoneSessionTest, ACallIsSteered) {
    auto alice = ready();
    alice->say(R"({"do":"invite","to":"bob","codecs":["opus","pcmu"]})");
    ASSERT_TRUE(io::eventually([&] { return !lines_.asked.empty(); }));
    line().observer().on_ringing("180 Ringing");
    ASSERT_TRUE(alice->hears("ringing"));
    EXPECT_EQ(alice->reason(), "180 Ringing");
    line().observer().on_accepted("pcmu", "");
    ASSERT_TRUE(alice->hears("accepted"));
    EXPECT_EQ(alice->event["audio"], "pcmu");
    alice->say(R"({"do":"hold","on":true})");
    alice->say(R"({"do":"hold","on":false})");
    alice->say(R"({"do":"digits","digits":"12#"})");
    line().observer().on_held(true);
    ASSERT_TRUE(alice->hears("held"));
    EXPECT_EQ(alice->event["on"], true);
    line().observer().on_digit('5');
    ASSERT_TRUE(alice->hears("digit"));
    EXPECT_EQ(alice->event["digit"], "5");
    alice->say(R"({"do":"bye"})");
    ASSERT_TRUE(io::eventually([&] { return lines_.asked.size() == 5; }));
    EXPECT_THAT(lines_.asked,
                ElementsAre("invite bob [opus,pcmu]", "hold", "resume", "digits 12#", "hang up"));
    line().observer().on_rejected("486 Busy Here");
    EXPECT_TRUE(alice->hears("rejected"));
    line().observer().on_ended();
    EXPECT_TRUE(alice->hears("ended"));
}

TEST_F(PhoneSessionTest, ACallComes) {
    auto alice = ready();
    line().observer().on_invited("sip:bob@example.com", "sip:alice@example.com");
    ASSERT_TRUE(alice->hears("invited"));
    EXPECT_EQ(alice->event["from"], "sip:bob@example.com");
    alice->say(R"({"do":"accept"})");
    alice->say(R"({"do":"reject"})");
    alice->say(R"({"do":"reject","status":486})");
    ASSERT_TRUE(io::eventually([&] { return lines_.asked.size() == 3; }));
    EXPECT_THAT(lines_.asked, ElementsAre("accept []", "reject 603", "reject 486"));
    line().observer().on_cancelled("sip:bob@example.com", "sip:alice@example.com");
    EXPECT_TRUE(alice->hears("cancelled"));
}

TEST_F(PhoneSessionTest, WhatTheLineRefusesIsSaid) {
    auto alice = ready();
    lines_.refuses = "486 Busy Here: the line has a call";
    alice->say(R"({"do":"invite","to":"bob"})");
    ASSERT_TRUE(alice->hears("error"));
    EXPECT_EQ(alice->event["do"], "invite");
    EXPECT_THAT(alice->reason(), HasSubstr("486 Busy Here"));
    alice->say(R"({"do":"invite"})");
    ASSERT_TRUE(alice->hears("error"));
    EXPECT_THAT(alice->reason(), HasSubstr("whom to call"));
}

TEST_F(PhoneSessionTest, WhoMayBeCalledIsToldToUsersOnly) {
    auto alice = page();
    alice->say(R"({"do":"list"})");
    ASSERT_TRUE(alice->hears("error"));
    EXPECT_THAT(alice->reason(), HasSubstr("no line yet"));
    alice->open();
    ASSERT_TRUE(io::eventually([&] { return !lines_.open_lines.empty(); }));
    line().observer().on_line_ready();
    alice->say(R"({"do":"list"})");
    ASSERT_TRUE(alice->hears("list"));
    ASSERT_EQ(alice->event["entries"].size(), 2U);
    EXPECT_EQ(alice->event["entries"][0]["number"], "100");
    EXPECT_EQ(alice->event["entries"][0]["here"], true);
    EXPECT_EQ(alice->event["entries"][1]["number"], "alice's friend");
}

// ---- who may ----

TEST_F(PhoneSessionTest, AWrongPasswordNeverReachesTheLines) {
    auto mallory = page();
    mallory->open("alice", "guess");
    ASSERT_TRUE(mallory->hears("failed"));
    EXPECT_THAT(mallory->reason(), HasSubstr("403 Forbidden"));
    EXPECT_TRUE(mallory->reads_to_end());
    EXPECT_TRUE(lines_.open_lines.empty());
    EXPECT_EQ(server_->counters().wrong_passwords, 1U);
    EXPECT_TRUE(logged("phone refused user=alice ip=127.0.0.1"));
    EXPECT_FALSE(logged("guess"));
}

TEST_F(PhoneSessionTest, WhoGuessesIsSlowedDownWithTheRightPasswordToo) {
    for (size_t i = 0; i < 10; i++) {
        auto mallory = page();
        mallory->open("alice", "guess");
        ASSERT_TRUE(mallory->hears("failed"));
    }
    const size_t asked = book_.asked;
    auto late = page();
    late->open();
    ASSERT_TRUE(late->hears("failed"));
    EXPECT_THAT(late->reason(), HasSubstr("429 Too Many Requests"));
    EXPECT_EQ(book_.asked, asked);
    EXPECT_TRUE(lines_.open_lines.empty());
}

TEST_F(PhoneSessionTest, WithoutAPasswordThereIsNoLine) {
    for (const char* text : {R"({"do":"open","user":"alice"})", R"({"do":"open"})"}) {
        auto nobody = page();
        nobody->say(text);
        ASSERT_TRUE(nobody->hears("failed"));
        EXPECT_TRUE(lines_.open_lines.empty());
    }
}

TEST_F(PhoneSessionTest, AnotherDomainHasToHaveLinesAndJudgesThePassword) {
    auto stranger = page();
    stranger->say(R"({"do":"open","user":"a","password":"p","domain":"elsewhere.example"})");
    ASSERT_TRUE(stranger->hears("failed"));
    auto user = page();
    user->say(R"({"do":"open","user":"a","password":"p","domain":"example.com"})");
    ASSERT_TRUE(io::eventually([&] { return !lines_.open_lines.empty(); }));
    EXPECT_EQ(line().request().domain, "example.com");
    line().observer().on_line_failed("403 Forbidden");
    ASSERT_TRUE(user->hears("failed"));
    EXPECT_EQ(user->reason(), "403 Forbidden");
    EXPECT_TRUE(user->reads_to_end());
    EXPECT_EQ(server_->counters().wrong_passwords, 1U);
}

TEST_F(PhoneSessionTest, APageOfAnotherSiteIsRefused) {
    auto foreign = page("Origin: https://evil.example\r\n");
    ASSERT_TRUE(foreign->read_until([&] { return !foreign->head.empty(); }));
    EXPECT_THAT(foreign->head, HasSubstr("HTTP/1.1 403"));
    auto own = page("Origin: http://h\r\n");
    ASSERT_TRUE(own->read_until([&] { return !own->head.empty(); }));
    EXPECT_THAT(own->head, HasSubstr("HTTP/1.1 101"));
}

TEST_F(PhoneSessionTest, OffThereIsNoSuchPlace) {
    auto alice = ready();
    options_phone_.enabled = false;
    server_->reconfigure(options_phone_);
    EXPECT_TRUE(alice->reads_to_end());
    auto late = page();
    ASSERT_TRUE(late->read_until([&] { return !late->head.empty(); }));
    EXPECT_THAT(late->head, HasSubstr("HTTP/1.1 404"));
}

TEST_F(PhoneSessionTest, WithoutSipTheReasonIsSaid) {
    place_.set(nullptr);
    auto alice = page();
    alice->open();
    ASSERT_TRUE(alice->hears("failed"));
    EXPECT_THAT(alice->reason(), HasSubstr("SIP is off"));
}

// ---- the streams ----

TEST_F(PhoneSessionTest, OnlyWhoShowsTheKeyUsesTheStreams) {
    auto alice = ready();
    const Address whip(alice->event["whip"]);
    for (const char* name : {"local", "remote"}) {
        for (const std::string& token : {std::string(), std::string("guess"), whip.app}) {
            EXPECT_EQ(publish(whip.app, name, token).code(), ErrorCode::kDenied) << name;
            EXPECT_EQ(play(whip.app, name, token).code(), ErrorCode::kDenied) << name;
        }
        EXPECT_EQ(play(whip.app, name, "", true).code(), ErrorCode::kOk) << "the line itself";
    }
    const size_t asked = policy_.asked;
    EXPECT_FALSE(publish(whip.app, "local", whip.key));
    EXPECT_FALSE(play(whip.app, "remote", whip.key));
    EXPECT_EQ(policy_.asked, asked) << "rules by address are for other streams";
}

TEST_F(PhoneSessionTest, EachLineHasNamesAndAKeyOfItsOwn) {
    auto alice = ready("alice");
    auto bob = ready("bob");
    const Address first(alice->event["whip"]);
    const Address second(bob->event["whip"]);
    EXPECT_NE(first.app, second.app);
    EXPECT_NE(first.key, second.key);
    EXPECT_EQ(publish(first.app, "local", second.key).code(), ErrorCode::kDenied);
}

TEST_F(PhoneSessionTest, WhoStillUsesTheStreamsAtTheEndIsEnded) {
    auto alice = ready();
    const Address whip(alice->event["whip"]);
    bool kicked = false;
    net::Client publisher(clients_, "webrtc", "127.0.0.1");
    publisher.key = policy_.key_of("", whip.app, "local");
    publisher.kick = [&] { kicked = true; };
    net::Client other(clients_, "webrtc", "127.0.0.1");
    other.key = policy_.key_of("", "live", "local");
    other.kick = [] { FAIL() << "somebody else's stream"; };
    alice->close();
    EXPECT_TRUE(io::eventually([&] { return server_->size() == 0; }));
    EXPECT_TRUE(kicked);
    EXPECT_FALSE(private_streams_.has(publisher.key));
}

// ---- bad input ----

TEST_F(PhoneSessionTest, NonsenseIsAnsweredAndTheLineGoesOn) {
    auto alice = ready();
    for (const char* text : {"hello", "{}", R"({"do":"explode"})", R"({"do":"hold","on":"yes"})"}) {
        alice->say(text);
        ASSERT_TRUE(alice->hears("error")) << text;
        EXPECT_NE(alice->reason(), "");
    }
    alice->open();
    ASSERT_TRUE(alice->hears("error"));
    EXPECT_THAT(alice->reason(), HasSubstr("already"));
    EXPECT_EQ(lines_.open_lines.size(), 1U);
    EXPECT_EQ(server_->size(), 1U);
}

TEST_F(PhoneSessionTest, BrokenFramesEndThePage) {
    const Bytes long_message(kMaxPhoneMessage + 1, 'x');
    const Bytes frames[] = {
        ws::make_frame(ws::Opcode::kText, as_bytes("{}")),  // not masked
        ws::make_masked_frame(ws::Opcode::kBinary, as_bytes("{}"), PhonePage::kMask),
        ws::make_masked_frame(ws::Opcode::kText, long_message, PhonePage::kMask),
    };
    const ws::CloseCode codes[] = {ws::CloseCode::kProtocolError, ws::CloseCode::kUnsupportedData,
                                   ws::CloseCode::kTooBig};
    for (size_t i = 0; i < 3; i++) {
        auto broken = ready();
        broken->say(frames[i]);
        ASSERT_TRUE(broken->reads_to_end()) << i;
        ASSERT_GE(broken->close_payload.size(), 2U) << i;
        EXPECT_EQ(ByteReader(broken->close_payload).u16(), static_cast<uint16_t>(codes[i])) << i;
        EXPECT_TRUE(io::eventually([&] { return lines_.open_lines.empty(); }));
    }
}

TEST_F(PhoneSessionTest, AFloodEndsThePage) {
    auto alice = ready();
    Bytes flood;
    for (size_t i = 0; i < 2 * PhoneSession::kMaxPerSecond; i++) {
        const Bytes one = ws::make_masked_frame(ws::Opcode::kPing, {}, PhonePage::kMask);
        flood.insert(flood.end(), one.begin(), one.end());
    }
    alice->say(ByteSpan(flood));
    ASSERT_TRUE(alice->reads_to_end());
    EXPECT_LE(alice->pongs, PhoneSession::kMaxPerSecond);
    EXPECT_TRUE(io::eventually([&] { return server_->size() == 0; }));
}

TEST_F(PhoneSessionTest, AGoodbyeEndsThePage) {
    auto alice = ready();
    alice->say(ByteSpan(ws::make_masked_frame(ws::Opcode::kClose,
                                              ws::make_close_payload(ws::CloseCode::kNormal, "bye"),
                                              PhonePage::kMask)));
    EXPECT_TRUE(alice->reads_to_end());
    EXPECT_TRUE(lines_.open_lines.empty());
}

// ---- time ----

TEST_F(PhoneSessionTest, WhoOpensNoLineIsEnded) {
    options_phone_.times.open_wait = Millis(50);
    server_->reconfigure(options_phone_);
    auto idle = page();
    ASSERT_TRUE(idle->hears("failed"));
    EXPECT_THAT(idle->reason(), HasSubstr("408"));
    EXPECT_TRUE(idle->reads_to_end());
    auto waits = page();
    waits->open();  // and the registration is not answered
    ASSERT_TRUE(waits->hears("failed"));
    EXPECT_TRUE(waits->reads_to_end());
    EXPECT_TRUE(lines_.open_lines.empty());
}

TEST_F(PhoneSessionTest, APageIsAskedAndEndedWhenItDoesNotAnswer) {
    options_phone_.times.ping = Millis(20);
    options_phone_.times.silence = Millis(3'500);
    server_->reconfigure(options_phone_);
    auto alice = ready();
    EXPECT_TRUE(alice->read_until([&] { return alice->pings >= 3; }));
    alice->answers_pings = false;
    EXPECT_TRUE(alice->reads_to_end());
    EXPECT_TRUE(io::eventually([&] { return lines_.open_lines.empty(); }));
}

TEST_F(PhoneSessionTest, TheServersStopEndsPages) {
    auto alice = ready();
    auto waits = page();
    ASSERT_TRUE(waits->read_until([&] { return !waits->head.empty(); }));
    stop();
    EXPECT_TRUE(lines_.open_lines.empty());
    EXPECT_EQ(server_->size(), 0U);
}

TEST_F(PhoneSessionTest, TheApiEndsAPage) {
    auto alice = ready();
    clients_.for_each([](net::Client& client) { client.kick(); });
    EXPECT_TRUE(alice->reads_to_end());
    EXPECT_TRUE(lines_.open_lines.empty());
}

}  // namespace
}  // namespace weir::session
