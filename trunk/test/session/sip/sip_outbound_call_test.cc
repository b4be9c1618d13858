// Calls by the server, to phones that register, to hosts that a rule names, by a trunk.
#include "session/sip/sip_outbound_call.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/rtp/header.h"
#include "session/sip/sip_server.h"

#include "test/session/sip/sip_phone.h"
#include "test/session/world.h"
#include "test/support/media_packets.h"

namespace weir::session {
namespace {

using testing::HasSubstr;
using Kind = sip::CallEvent::Kind;

// Publishes PCMU.
class Speaker final : public stream::Publisher {
  public:
    explicit Speaker(stream::Stream& stream) : stream_(stream) {
        EXPECT_FALSE(
            stream.start_publish(*this, stream::PublishConflict::kRefuse, MonoClock::now()));
        say();
    }

    ~Speaker() { stream_.end_publish(*this, MonoClock::now()); }

    void say() {
        Bytes body(1 + SipPhone::kFrame, 0x55);
        body[0] = 0x82;
        time_ms_ += 20;
        stream_.publish(*this, test::packet(media::TrackKind::kAudio, time_ms_, std::move(body)),
                        MonoClock::now());
    }

    std::string describe() const override { return "the test"; }

    std::string_view client_id() const override { return "test"; }

    void on_taken_over() override {}

  private:
    stream::Stream& stream_;
    uint32_t time_ms_ = 0;
};

struct Heard final : SipCallObserver {
    void on_ringing(int with, std::string_view) override { rang = with; }

    void on_answered(const sdp::PhoneTrack& audio, const sdp::PhoneTrack&) override {
        codec = media::to_string(audio.codec);
    }

    void on_held(bool on) override { held = on; }

    void on_digit(char) override {}

    void on_over(bool was_answered, int with, std::string_view) override {
        overs++;
        answered = was_answered;
        status = with;
    }

    int rang = 0;
    std::string codec;
    bool held = false;
    int overs = 0;
    bool answered = false;
    int status = 0;
};

class SipOutboundCallTest : public World {
  protected:
    SipOutboundCallTest() { start(options()); }

    ~SipOutboundCallTest() override {
        if (speaker_) {
            speaker_.reset();
            registry_.release(*stream_);
        }
        const Error failed = server_->stop(io::soon());
        EXPECT_FALSE(failed) << failed.to_string();
        fanout_.stop(io::soon());
        server_.reset();
    }

    static SipServerOptions options() {
        SipServerOptions options;
        options.users.push_back({"alice", "secret"});
        options.extensions.push_back({"201", "alice"});
        return options;
    }

    void start(SipServerOptions options) {
        if (server_) {
            EXPECT_FALSE(server_->stop(io::soon()));
        }
        server_ = std::make_unique<SipServer>(services_, SipServerOptions());
        auto socket = SipPhone::udp_socket();
        address_ = socket->local().net_address();
        EXPECT_FALSE(server_->wires().serve(std::move(socket)));
        server_->reconfigure(std::move(options));
    }

    void publish() {
        stream_ = &registry_.get_or_create(key("live", "stage"), {}, MonoClock::now());
        speaker_ = std::make_unique<Speaker>(*stream_);
    }

    static stream::StreamKey key(const std::string& app, const std::string& name) {
        return {std::string(stream::kDefaultVhost), app, name};
    }

    static SipCallOrder order(const std::string& to) {
        SipCallOrder order;
        order.to = to;
        order.play = key("live", "stage");
        order.publish = key("talk", "alice");
        return order;
    }

    std::string place(const std::string& to) {
        const Result<std::string> placed = server_->place_call(order(to), &heard_);
        EXPECT_TRUE(placed.ok()) << placed.error().message();
        return placed.ok() ? *placed : std::string();
    }

    ErrorCode refusal(const std::string& to) {
        const Result<std::string> placed = server_->place_call(order(to), &heard_);
        return placed.ok() ? ErrorCode::kInternal : placed.error().code();
    }

    // How the call has ended, once it has.
    SipCallFacts end_of(const std::string& name) {
        EXPECT_TRUE(io::eventually([&] { return server_->calls() == 0; }));
        return server_->facts_of(name, MonoClock::now()).value_or(SipCallFacts());
    }

    Heard heard_;
    std::unique_ptr<SipServer> server_;
    NetAddress address_;
    stream::Stream* stream_ = nullptr;
    std::unique_ptr<Speaker> speaker_;
};

TEST_F(SipOutboundCallTest, AUsersPhoneIsCalledHearsAStreamAndIsOne) {
    publish();
    SipPhone phone(address_);
    ASSERT_TRUE(phone.registers("alice", "secret"));
    const std::string name = place("alice");
    ASSERT_TRUE(phone.waits_for(Kind::kInvited));
    EXPECT_THAT(phone.last.sdp, HasSubstr("PCMU/8000"));
    EXPECT_EQ(phone.last.sdp.find("m=video"), std::string::npos);
    const NetAddress to = SipPhone::audio_of(phone.last.sdp);
    const std::string offer = phone.last.sdp;
    phone.ring();
    EXPECT_TRUE(io::eventually([&] { return heard_.rang == 180; }));
    EXPECT_EQ(server_->facts_of(name, MonoClock::now())->state, "ringing");
    ASSERT_TRUE(phone.accept());
    EXPECT_TRUE(phone.waits_for(Kind::kConfirmed));
    EXPECT_EQ(heard_.codec, media::to_string(media::Codec::kG711U));
    uint16_t sequence = 0;
    const stream::Stream* const said = registry_.find(key("talk", "alice"));
    ASSERT_NE(said, nullptr);
    EXPECT_TRUE(io::eventually([&] {
        speaker_->say();
        phone.say(to, sequence++);
        return !phone.hear().empty() && said->audio().frames >= 3;
    }));
    EXPECT_EQ(clients_.size(), 2U);
    phone.hang_up();
    const SipCallFacts end = end_of(name);
    EXPECT_EQ(end.state, "ended");
    EXPECT_EQ(end.reason, "peer_closed");
    EXPECT_EQ(heard_.overs, 1);
    EXPECT_TRUE(heard_.answered);
    EXPECT_EQ(clients_.size(), 0U);
    EXPECT_EQ(server_->counters().placed, 1U);
    EXPECT_EQ(server_->counters().answered_out, 1U);
}

TEST_F(SipOutboundCallTest, TheStreamMayComeLater) {
    SipPhone phone(address_);
    ASSERT_TRUE(phone.registers("alice", "secret"));
    place("201");
    ASSERT_TRUE(phone.waits_for(Kind::kInvited));
    ASSERT_TRUE(phone.accept());
    ASSERT_TRUE(phone.waits_for(Kind::kConfirmed));
    publish();
    EXPECT_TRUE(io::eventually([&] {
        speaker_->say();
        return !phone.hear().empty();
    }));
}

TEST_F(SipOutboundCallTest, TheCallOutlivesItsStream) {
    policy_.play.pump.wait_publisher = Millis(50);
    publish();
    SipPhone phone(address_);
    ASSERT_TRUE(phone.registers("alice", "secret"));
    place("alice");
    ASSERT_TRUE(phone.waits_for(Kind::kInvited));
    ASSERT_TRUE(phone.accept());
    ASSERT_TRUE(phone.waits_for(Kind::kConfirmed));
    speaker_.reset();
    registry_.release(*stream_);
    (void)io::sleep_for(Millis(700));
    EXPECT_FALSE(phone.has(Kind::kEnded));
    publish();
    EXPECT_TRUE(io::eventually([&] {
        speaker_->say();
        return !phone.hear().empty();
    }));
}

TEST_F(SipOutboundCallTest, WhyACallFailedIsKept) {
    for (const auto& [status, reason] : {std::pair(486, "busy"),
                                         {603, "rejected"},
                                         {480, "no answer"},
                                         {488, "no common codec"}}) {
        SipPhone phone(address_);
        ASSERT_TRUE(phone.registers("alice", "secret"));
        const std::string name = place("alice");
        ASSERT_TRUE(phone.waits_for(Kind::kInvited));
        phone.reject(status);
        const SipCallFacts end = end_of(name);
        EXPECT_EQ(end.state, "failed");
        EXPECT_EQ(end.reason, reason);
        EXPECT_EQ(end.status, status);
        EXPECT_EQ(heard_.status, status);
        EXPECT_FALSE(heard_.answered);
        EXPECT_EQ(clients_.size(), 0U);
        server_->remove_phones("alice");
    }
    EXPECT_EQ(heard_.overs, 4);
    size_t kept = 0;
    server_->for_each_ended(MonoClock::now(), [&](const SipCallFacts&) { kept++; });
    EXPECT_EQ(kept, 4U);
}

TEST_F(SipOutboundCallTest, AllPhonesOfAUserRingAndTheFirstHasTheCall) {
    publish();
    SipPhone first(address_);
    SipPhone second(address_);
    ASSERT_TRUE(first.registers("alice", "secret"));
    ASSERT_TRUE(second.registers("alice", "secret"));
    place("alice");
    ASSERT_TRUE(first.waits_for(Kind::kInvited));
    ASSERT_TRUE(second.waits_for(Kind::kInvited));
    first.ring();
    second.ring();
    EXPECT_TRUE(io::eventually([&] { return heard_.rang == 180; }));
    ASSERT_TRUE(second.accept());
    EXPECT_TRUE(second.waits_for(Kind::kConfirmed));
    EXPECT_TRUE(first.waits_for(Kind::kCancelled));
    EXPECT_EQ(server_->calls(), 1U);
}

TEST_F(SipOutboundCallTest, ACallIsGivenUpWhileItRings) {
    SipPhone phone(address_);
    ASSERT_TRUE(phone.registers("alice", "secret"));
    const std::string name = place("alice");
    ASSERT_TRUE(phone.waits_for(Kind::kInvited));
    phone.ring();
    EXPECT_TRUE(io::eventually([&] { return heard_.rang == 180; }));
    server_->find(name)->hang_up(net::EndClass::kKicked, "by the test");
    EXPECT_TRUE(phone.waits_for(Kind::kCancelled));
    EXPECT_EQ(end_of(name).reason, "kicked");
    EXPECT_EQ(heard_.status, 487);
}

TEST_F(SipOutboundCallTest, NoCallLeavesWithoutARule) {
    EXPECT_EQ(refusal("sip:bob@127.0.0.1:9"), ErrorCode::kDenied);
    EXPECT_EQ(refusal("sip:bob@example.com"), ErrorCode::kDenied);
    EXPECT_EQ(refusal("bob"), ErrorCode::kDenied);
    EXPECT_EQ(refusal("tel:+1234"), ErrorCode::kDenied);
    EXPECT_EQ(refusal("sip:example.com"), ErrorCode::kMalformed);
    SipServerOptions some = options();
    some.call_hosts = {"example.com", "*.example.org"};
    some.call_networks.push_back({NetAddress::parse_ip("192.0.2.0", 0)->v6(), 120});
    EXPECT_TRUE(allows_sip_host(some, "example.com"));
    EXPECT_FALSE(allows_sip_host(some, "a.example.com"));
    EXPECT_TRUE(allows_sip_host(some, "a.example.org"));
    EXPECT_FALSE(allows_sip_host(some, "example.org"));
    EXPECT_FALSE(allows_sip_host(some, "badexample.org"));
    EXPECT_TRUE(allows_sip_host(some, "192.0.2.77"));
    EXPECT_FALSE(allows_sip_host(some, "192.0.3.77"));
}

TEST_F(SipOutboundCallTest, AHostOfARuleIsCalledWithALogin) {
    SipServerOptions some = options();
    some.call_networks.push_back({NetAddress::parse_ip("127.0.0.1", 0)->v6(), 128});
    start(some);
    publish();
    SipPhone phone(address_);
    const std::string name = place("sip:bob@" + phone.address().to_string());
    ASSERT_TRUE(phone.waits_for(Kind::kInvited));
    EXPECT_THAT(std::string(phone.last.request.header("From")), HasSubstr("sip:weir@127.0.0.1"));
    ASSERT_TRUE(phone.accept());
    ASSERT_TRUE(phone.waits_for(Kind::kConfirmed));
    server_->find(name)->hang_up(net::EndClass::kKicked, "by the test");
    EXPECT_TRUE(phone.waits_for(Kind::kEnded));
}

TEST_F(SipOutboundCallTest, WhoIsNotRegisteredDoesNotAnswer) {
    const SipCallFacts end = end_of(place("alice"));
    EXPECT_EQ(end.state, "failed");
    EXPECT_EQ(end.status, 480);
    EXPECT_EQ(end.reason, "no answer");
}

TEST_F(SipOutboundCallTest, ATakenNameIsRefusedAtOnce) {
    publish();
    SipCallOrder wrong = order("alice");
    wrong.publish = key("live", "stage");
    const Result<std::string> placed = server_->place_call(wrong);
    ASSERT_FALSE(placed.ok());
    EXPECT_EQ(placed.error().code(), ErrorCode::kBusy);
}

TEST_F(SipOutboundCallTest, HoldGoesBothWays) {
    publish();
    SipPhone phone(address_);
    ASSERT_TRUE(phone.registers("alice", "secret"));
    const std::string name = place("alice");
    ASSERT_TRUE(phone.waits_for(Kind::kInvited));
    ASSERT_TRUE(phone.accept());
    ASSERT_TRUE(phone.waits_for(Kind::kConfirmed));
    phone.offer(sdp::Direction::kSendOnly);
    ASSERT_TRUE(phone.waits_for(Kind::kOfferAnswered));
    EXPECT_TRUE(heard_.held);
    phone.offer(sdp::Direction::kSendRecv);
    ASSERT_TRUE(phone.waits_for(Kind::kOfferAnswered));
    EXPECT_FALSE(heard_.held);
    auto* const call = dynamic_cast<SipCall*>(server_->find(name));
    ASSERT_NE(call, nullptr);
    EXPECT_TRUE(io::eventually([&] {  // the phone's own offer is over only with its ACK
        phone.turn();
        return !call->hold(true);
    }));
    ASSERT_TRUE(phone.waits_for(Kind::kOffer));
    EXPECT_THAT(phone.last.sdp, HasSubstr("a=inactive"));
    phone.answer_offer(phone.last.sdp);
    (void)io::sleep_for(Millis(50));
    EXPECT_EQ(server_->facts_of(name, MonoClock::now())->state, "answered");
}

// ---- trunks ----

TEST_F(SipOutboundCallTest, ThisServerRegistersAndCallsByATrunk) {
    SipPhone pbx(address_);
    SipServerOptions some = options();
    some.registrations.push_back({.user = "weir",
                                  .domain = "pbx.test",
                                  .password = "secret",
                                  .servers = {pbx.address().to_string()},
                                  .dial = {{"300", "live/stage", "talk/desk"}}});
    server_->reconfigure(some);
    ASSERT_TRUE(io::eventually([&] {
        pbx.turn();
        return server_->trunks().registered() == 1;
    }));
    EXPECT_EQ(pbx.requests.front().uri, "sip:pbx.test");
    publish();
    SipCallOrder out = order("+1234");
    out.via = "weir@pbx.test";
    ASSERT_TRUE(server_->place_call(out, &heard_).ok());
    ASSERT_TRUE(pbx.waits_for(Kind::kInvited));
    EXPECT_EQ(pbx.last.request.uri, "sip:+1234@pbx.test");
    EXPECT_THAT(std::string(pbx.last.request.header("From")), HasSubstr("sip:weir@pbx.test"));
    pbx.reject(486);
    EXPECT_TRUE(io::eventually([&] {
        pbx.turn();
        return heard_.status == 486;
    }));
    // Calls from there need no password.
    pbx.call("sip:300@127.0.0.1");
    EXPECT_TRUE(pbx.waits_for(Kind::kAnswered));
    bool named = false;
    server_->for_each_call([&](const SipParty& call) {
        named = call.facts(MonoClock::now()).trunk == "weir@pbx.test";
    });
    EXPECT_TRUE(named);
    pbx.hang_up();
    EXPECT_TRUE(pbx.waits_for(Kind::kEnded));
    // And it logs out where it is not wanted any more.
    pbx.requests.clear();
    server_->reconfigure(options());
    EXPECT_TRUE(io::eventually([&] {
        pbx.turn();
        return server_->trunks().size() == 0;
    }));
    ASSERT_FALSE(pbx.requests.empty());
    EXPECT_EQ(pbx.requests.front().header("Expires"), "0");
}

TEST_F(SipOutboundCallTest, ABackupTakesOver) {
    SipPhone bad(address_);
    bad.register_status = 503;
    SipPhone good(address_);
    SipServerOptions some = options();
    some.registrations.push_back(
        {.user = "weir",
         .domain = "pbx.test",
         .servers = {bad.address().to_string(), good.address().to_string()}});
    server_->reconfigure(some);
    EXPECT_TRUE(io::eventually([&] {
        bad.turn();
        good.turn();
        return server_->trunks().registered() == 1;
    }));
    server_->trunks().for_each([&](const SipTrunk& trunk) {
        EXPECT_EQ(trunk.facts(MonoClock::now()).server, good.address().to_string());
        EXPECT_EQ(trunk.facts(MonoClock::now()).failures, 1U);
    });
    server_->reconfigure(options());
    EXPECT_TRUE(io::eventually([&] {
        good.turn();
        return server_->trunks().size() == 0;
    }));
}

TEST_F(SipOutboundCallTest, ATrunkWithoutAnAddressIsShown) {
    SipServerOptions some = options();
    some.registrations.push_back({.user = "weir", .domain = "pbx.test", .servers = {"no host"}});
    server_->reconfigure(some);
    std::string error;
    EXPECT_TRUE(io::eventually([&] {
        server_->trunks().for_each(
            [&](const SipTrunk& trunk) { error = trunk.facts(MonoClock::now()).error; });
        return !error.empty();
    }));
    SipCallOrder out = order("+1234");
    out.via = "weir@pbx.test";
    const Result<std::string> placed = server_->place_call(out);
    ASSERT_TRUE(placed.ok());
    EXPECT_EQ(end_of(*placed).reason, "no answer");
}

}  // namespace
}  // namespace weir::session
