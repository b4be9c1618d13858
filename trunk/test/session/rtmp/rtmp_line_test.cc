// The commands of siprtmp: one RTMP connection is a telephone, with media both ways.
#include "session/rtmp/rtmp_line.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stream/registry.h"

#include "test/session/fake_phone_lines.h"
#include "test/session/world.h"

namespace weir::session {
namespace {

using amf::Value;

class RtmpLineTest : public World {
  protected:
    RtmpLineTest() {
        place_.set(&lines_);
        services_.phones = &place_;
    }

    ~RtmpLineTest() override { stop(); }

    std::unique_ptr<RtmpPeer> dialled(const std::vector<std::string>& arguments) {
        auto client = peer();
        client->handshake();
        client->send(RtmpPeer::connect_command("sip/alice@example.com", arguments));
        return client;
    }

    // A telephone whose line is ready, with two message streams.
    std::unique_ptr<RtmpPeer> telephone() {
        auto client = dialled({"alice", "secret", "Alice"});
        EXPECT_TRUE(eventually([&] { return !lines_.open_lines.empty(); }));
        observer().on_line_ready();
        for (int i = 0; i < 2; i++) {
            client->send(RtmpPeer::create_stream_command());
        }
        EXPECT_TRUE(client->read_until([&] { return client->results == 3; }));
        return client;
    }

    net::PhoneLineObserver& observer() { return lines_.open_lines.back()->observer(); }

    bool is_asked(std::string_view what) {
        return eventually([&] { return !lines_.asked.empty() && lines_.asked.back() == what; });
    }

    // What the other party says, as any publisher's stream.
    class OtherParty final : public stream::Publisher {
      public:
        OtherParty(stream::Registry& registry, const net::PhoneLineRequest& line)
            : registry_(registry),
              stream_(registry.get_or_create(line.remote, {}, MonoClock::now())) {
            Error failed =
                stream_.start_publish(*this, stream::PublishConflict::kRefuse, MonoClock::now());
            EXPECT_FALSE(failed);
        }

        OtherParty(const OtherParty&) = delete;
        OtherParty& operator=(const OtherParty&) = delete;

        ~OtherParty() {
            stream_.end_publish(*this, MonoClock::now());
            registry_.release(stream_);
        }

        std::string describe() const override { return "the other party"; }

        std::string_view client_id() const override { return "s"; }

        void on_taken_over() override {}

        void say(uint32_t time_ms, uint8_t marker) {
            stream_.publish(*this, test::packet(media::TrackKind::kAudio, time_ms, pcmu(marker)),
                            MonoClock::now());
        }

      private:
        stream::Registry& registry_;
        stream::Stream& stream_;
    };

    static Bytes pcmu(uint8_t marker) {
        Bytes body(161, marker);
        body[0] = 0x82;
        return body;
    }

    FakePhoneLines lines_;
    net::PhoneLinesPlace place_;
};

TEST_F(RtmpLineTest, AConnectIsAnsweredWhenTheLineIsRegistered) {
    start_rtmp();
    auto client = dialled({"login", "secret", "Alice B."});
    ASSERT_TRUE(eventually([&] { return lines_.open_lines.size() == 1; }));
    const net::PhoneLineRequest& request = lines_.open_lines[0]->request();
    EXPECT_EQ(request.user, "alice");
    EXPECT_EQ(request.domain, "example.com");
    EXPECT_EQ(request.login, "login");
    EXPECT_EQ(request.password, "secret");
    EXPECT_EQ(request.display, "Alice B.");
    EXPECT_EQ(request.local.to_string(), "/sip/alice@example.com/local");
    EXPECT_EQ(request.remote.to_string(), "/sip/alice@example.com/remote");
    client->read();
    EXPECT_EQ(client->results, 0) << "nobody has answered the REGISTER yet";
    observer().on_line_ready();
    EXPECT_TRUE(client->read_until([&] { return client->results == 1; }));
    client->close();
    EXPECT_TRUE(is_asked("close alice")) << "the end of the connection is the end of the line";
}

TEST_F(RtmpLineTest, AFailedLineRefusesTheConnect) {
    start_rtmp();
    auto client = dialled({"alice", "wrong"});
    ASSERT_TRUE(eventually([&] { return lines_.open_lines.size() == 1; }));
    observer().on_line_failed("403 Forbidden");
    ASSERT_TRUE(client->sees(rtmp::status::kConnectRejected));
    EXPECT_EQ(client->descriptions.back(), "403 Forbidden");
    EXPECT_TRUE(is_asked("close alice"));
}

TEST_F(RtmpLineTest, OtherDomainsAreRefused) {
    start_rtmp();
    auto client = peer();
    client->handshake();
    client->send(RtmpPeer::connect_command("sip/alice@elsewhere.net", {"alice", "secret"}));
    ASSERT_TRUE(client->sees(rtmp::status::kConnectRejected));
    EXPECT_TRUE(lines_.open_lines.empty());
    place_.set(nullptr);
    auto off = dialled({"alice", "secret"});
    EXPECT_TRUE(off->sees(rtmp::status::kConnectRejected)) << "SIP is off";
}

TEST_F(RtmpLineTest, WithoutArgumentsItIsAnApplicationAsEveryOther) {
    start_rtmp();
    auto client = peer();
    client->open("sip/alice@example.com");
    EXPECT_TRUE(lines_.open_lines.empty());
    EXPECT_TRUE(client->publish("local"));
}

TEST_F(RtmpLineTest, AClientThatLeavesWhileItsLineRegistersEndsIt) {
    start_rtmp();
    auto client = dialled({"alice", "secret"});
    ASSERT_TRUE(eventually([&] { return lines_.open_lines.size() == 1; }));
    client->close();
    EXPECT_TRUE(is_asked("close alice"));
}

TEST_F(RtmpLineTest, EveryCommandReachesTheLine) {
    start_rtmp();
    auto client = telephone();
    const auto says = [&](std::string_view name, const std::vector<Value>& arguments,
                          std::string_view asked) {
        const int before = client->results;
        client->call(name, arguments);
        EXPECT_TRUE(is_asked(asked)) << name;
        EXPECT_TRUE(client->read_until([&] { return client->results == before + 1; })) << name;
    };
    says("invite",
         {Value::string("sip:bob@example.com"), Value::string("pcmu"), Value::string("dtmf")},
         "invite sip:bob@example.com [pcmu,dtmf]");
    says("invite", {Value::string("100")}, "invite 100 []");
    says("accept", {Value::string("wideband")}, "accept [wideband]");
    says("reject", {Value::string("486 Busy Here")}, "reject 486");
    says("reject", {Value::number(480)}, "reject 480");
    says("reject", {}, "reject 603");
    says("reject", {Value::string("200 OK")}, "reject 603");
    says("bye", {}, "hang up");
    says("hold", {Value::boolean(true)}, "hold");
    says("hold", {Value::boolean(false)}, "resume");
    says("sendDTMF", {Value::string("5")}, "digits 5");
    says("sendDTMF", {Value::number(7)}, "digits 7");
}

TEST_F(RtmpLineTest, WhatTheLineRefusesIsAnErrorAndARefusedCallARejectedOne) {
    start_rtmp();
    auto client = telephone();
    lines_.refuses = "486 Busy Here";
    client->call("hold", {Value::boolean(true)});
    ASSERT_TRUE(client->sees(rtmp::status::kCallFailed));
    client->call("invite", {Value::string("bob")});
    ASSERT_TRUE(client->sees(rtmp::status::kCallFailed));
    EXPECT_TRUE(client->is_called("rejected", {Value::string("486 Busy Here")}));
    client->call("shutdown", {});
    EXPECT_TRUE(client->sees(rtmp::status::kCallFailed)) << "there is no such command";
}

TEST_F(RtmpLineTest, EveryEventIsACallOfTheClient) {
    start_rtmp();
    auto client = telephone();
    net::PhoneLineObserver& line = observer();
    line.on_ringing("180 Ringing");
    EXPECT_TRUE(client->is_called("ringing", {Value::string("180 Ringing")}));
    line.on_accepted("pcmu", "h264");
    EXPECT_TRUE(client->is_called("accepted", {Value::string("pcmu"), Value::string("h264")}));
    line.on_held(true);
    EXPECT_TRUE(client->is_called("holded", {Value::boolean(true)}));
    line.on_held(false);
    EXPECT_TRUE(client->is_called("holded", {Value::boolean(false)}));
    line.on_digit('#');
    EXPECT_TRUE(client->is_called("digit", {Value::string("#")}));
    line.on_ended();
    EXPECT_TRUE(client->is_called("byed"));
    line.on_rejected("603 Decline");
    EXPECT_TRUE(client->is_called("rejected", {Value::string("603 Decline")}));
    const std::vector<Value> parties{Value::string("sip:bob@example.com"),
                                     Value::string("sip:alice@example.com")};
    line.on_invited("sip:bob@example.com", "sip:alice@example.com");
    EXPECT_TRUE(client->is_called("invited", parties));
    line.on_cancelled("sip:bob@example.com", "sip:alice@example.com");
    EXPECT_TRUE(client->is_called("cancelled", parties));
}

TEST_F(RtmpLineTest, ItPublishesAndPlaysAndTalksOnOneConnection) {
    start_rtmp();
    auto client = telephone();
    ASSERT_TRUE(client->play("remote", 2)) << "before anybody publishes";
    ASSERT_TRUE(client->publish("local", 1)) << "while it plays";
    OtherParty other(registry_, lines_.open_lines[0]->request());
    for (uint8_t i = 1; i <= 20; i++) {
        other.say(1000 + 20U * i, i);
        client->media(1, rtmp::kAudio, 20U * i, pcmu(static_cast<uint8_t>(100 + i)));
    }
    EXPECT_TRUE(client->gets(pcmu(20)));
    observer().on_held(true);
    EXPECT_TRUE(client->is_called("holded", {Value::boolean(true)}));
    client->call("bye");
    EXPECT_TRUE(is_asked("hang up"));
    const stream::Stream* local = registry_.find(lines_.open_lines[0]->request().local);
    ASSERT_NE(local, nullptr);
    EXPECT_TRUE(eventually([&] { return local->has_audio(); }));
    EXPECT_EQ(local->audio().codec, media::Codec::kG711U);
    other.say(2000, 77);
    EXPECT_TRUE(client->gets(pcmu(77))) << "playing goes on beside it";
    EXPECT_EQ(clients_.size(), 2U) << "a row for each of what it publishes and plays";
}

TEST_F(RtmpLineTest, PlayingEndsAndBeginsAgainAndTheConnectionTalksOn) {
    start_rtmp();
    auto client = telephone();
    ASSERT_TRUE(client->publish("local", 1));
    OtherParty other(registry_, lines_.open_lines[0]->request());
    other.say(1000, 1);
    ASSERT_TRUE(client->play("remote", 2));
    ASSERT_TRUE(client->gets(pcmu(1)));
    client->send(RtmpPeer::stream_command("closeStream", 2));
    EXPECT_TRUE(eventually([&] { return clients_.size() == 1; }));
    client->call("bye");
    EXPECT_TRUE(is_asked("hang up"));
    ASSERT_TRUE(client->play("remote", 2));
    other.say(2000, 2);
    EXPECT_TRUE(client->gets(pcmu(2)));
}

TEST_F(RtmpLineTest, ItsPlayerWaitsFromCallToCall) {
    policy_.play.pump.wait_publisher = Millis(0);
    start_rtmp();
    auto client = telephone();
    ASSERT_TRUE(client->play("remote", 2));
    for (uint8_t call = 1; call <= 2; call++) {
        OtherParty other(registry_, lines_.open_lines[0]->request());
        other.say(1000, call);
        EXPECT_TRUE(client->gets(pcmu(call)));
    }
    observer().on_ended();
    EXPECT_TRUE(client->is_called("byed"));
}

TEST_F(RtmpLineTest, NobodyElseTakesItsNames) {
    start_rtmp();
    auto client = telephone();
    for (const char* name : {"local", "remote"}) {
        auto stranger = peer();
        stranger->open("sip/alice@example.com");
        EXPECT_TRUE(stranger->publish(name, 1, rtmp::status::kPublishDenied));
    }
    EXPECT_TRUE(client->publish("local", 1));
    EXPECT_TRUE(client->publish("remote", 2, rtmp::status::kPublishDenied))
        << "that is the other party's";
}

TEST_F(RtmpLineTest, ALineThatIsTakenOverEndsTheConnection) {
    start_rtmp();
    for (const bool plays : {false, true}) {
        auto client = telephone();
        if (plays) {
            ASSERT_TRUE(client->play("remote", 2));
        }
        observer().on_line_failed("another connection has taken the line");
        EXPECT_TRUE(client->reads_to_end());
        EXPECT_TRUE(eventually([&] { return lines_.open_lines.empty(); }));
    }
}

TEST_F(RtmpLineTest, TheOperatorEndsIt) {
    start_rtmp();
    for (const bool plays : {false, true}) {
        auto client = telephone();
        ASSERT_TRUE(client->publish("local", 1));
        if (plays) {
            ASSERT_TRUE(client->play("remote", 2));
        }
        clients_.for_each([&](const net::Client& each) {
            if (each.role == net::ClientRole::kPublisher) {
                each.kick();
            }
        });
        EXPECT_TRUE(client->reads_to_end());
        EXPECT_TRUE(eventually([&] { return clients_.size() == 0; }));
    }
}

TEST_F(RtmpLineTest, TheEndOfTheServerEndsIt) {
    start_rtmp();
    auto client = telephone();
    ASSERT_TRUE(client->play("remote", 2));
    ASSERT_TRUE(client->publish("local", 1));
    stop();
    EXPECT_TRUE(client->reads_to_end());
    EXPECT_TRUE(lines_.open_lines.empty());
}

TEST_F(RtmpLineTest, AClientThatVanishesWhileItPlaysEndsTheLine) {
    start_rtmp();
    auto client = telephone();
    ASSERT_TRUE(client->play("remote", 2));
    client->close();
    EXPECT_TRUE(is_asked("close alice"));
}

}  // namespace
}  // namespace weir::session
