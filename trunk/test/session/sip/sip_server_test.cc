// A SIP server over real sockets, and a telephone that is a user agent of its own.
#include "session/sip/sip_server.h"

#include <deque>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "proto/rtp/header.h"
#include "proto/sdp/phone.h"

#include "test/session/world.h"
#include "test/support/media_packets.h"

namespace weir::session {
namespace {

using testing::HasSubstr;
using Kind = sip::CallEvent::Kind;

constexpr size_t kFrame = 160;  // 20 ms of G.711

std::unique_ptr<io::UdpSocket> udp_socket(const char* address = "127.0.0.1:0") {
    auto socket = io::UdpSocket::bind(*io::SocketAddress::parse(address), {});
    WEIR_CHECK(socket.ok());
    return std::move(*socket);
}

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
        Bytes body(1 + kFrame, 0x55);
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

class Phone {
  public:
    explicit Phone(const NetAddress& server)
        : socket_(udp_socket()), media_(udp_socket()), agent_({}, system_random()) {
        flow_.connection = 1;
        flow_.remote = server;
        flow_.local = socket_->local().net_address();
    }

    static sdp::PhoneOptions options(const NetAddress& media) {
        sdp::PhoneOptions options;
        options.address = media.with_port(0);
        options.audio.codecs = {{media::Codec::kG711U, 8000, 0}};
        options.audio.port = media.port();
        return options;
    }

    void call(const std::string& uri,
              const std::string& user = "",
              const std::string& password = "") {
        sip::CallTarget target;
        target.flow = flow_;
        target.uri = uri;
        target.from = "sip:alice@example.org";
        target.login = {user, password};
        target.sdp = sdp::write_phone_offer(options(media_->local().net_address()));
        id_ = agent_.call(MonoClock::now(), target);
        turn();
    }

    void hang_up() {
        agent_.hang_up(MonoClock::now(), id_);
        turn();
    }

    void offer(sdp::Direction direction) {
        sdp::PhoneOptions now = options(media_->local().net_address());
        now.version = 2;
        now.audio.direction = direction;
        agent_.offer(MonoClock::now(), id_, sdp::write_phone_offer(now));
        turn();
    }

    // True once an event of that kind has come; it is in `last`.
    bool has(Kind kind) {
        turn();
        while (!events_.empty()) {
            last = std::move(events_.front());
            events_.pop_front();
            if (last.kind == kind) {
                return true;
            }
        }
        return false;
    }

    bool waits_for(Kind kind) {
        return io::eventually([&] { return has(kind); });
    }

    NetAddress media_of_server() const {
        const auto answer = sdp::read_phone_description(last.sdp);
        const sdp::PhoneMedia* const audio =
            answer.ok() ? answer->find(media::TrackKind::kAudio) : nullptr;
        return audio == nullptr ? NetAddress() : audio->to;
    }

    // The next packet of RTP; empty: none has come.
    Bytes hear() {
        Bytes heard;
        media_->receive([&](std::span<uint8_t> bytes, const io::UdpPath&) {
            heard.assign(bytes.begin(), bytes.end());
        });
        return heard;
    }

    static Bytes packet(uint16_t sequence) {
        Bytes bytes(rtp::kFixedHeaderSize + kFrame, 0x7F);
        rtp::write_header({0, false, sequence, sequence * uint32_t{kFrame}, 4711}, bytes.data());
        return bytes;
    }

    void say(const NetAddress& to, uint16_t sequence) {
        (void)media_->send({to, {}}, packet(sequence));
    }

    sip::CallEvent last;

  private:
    void turn() {
        socket_->receive([&](std::span<uint8_t> bytes, const io::UdpPath&) {
            agent_.on_parsed(MonoClock::now(), sip::parse_datagram(bytes), flow_);
        });
        agent_.handle_timeout(MonoClock::now());
        while (auto out = agent_.poll_transmit()) {
            (void)socket_->send({flow_.remote, {}}, as_bytes(out->bytes));
        }
        while (auto event = agent_.poll_event()) {
            events_.push_back(std::move(*event));
        }
    }

    std::unique_ptr<io::UdpSocket> socket_;
    std::unique_ptr<io::UdpSocket> media_;
    sip::UserAgent agent_;
    sip::Flow flow_;
    sip::CallId id_ = 0;
    std::deque<sip::CallEvent> events_;
};

class SipServerTest : public World {
  protected:
    SipServerTest() {
        SipServerOptions options;
        options.trunks.push_back({NetAddress::parse_ip("127.0.0.1", 0)->v6(), 128});
        options.dial.push_back({"100", "live/stage", "talk/desk"});
        start(std::move(options));
    }

    ~SipServerTest() override {
        if (speaker_) {
            speaker_.reset();
            registry_.release(*stream_);
        }
        const Error failed = server_->stop(io::soon());
        EXPECT_FALSE(failed) << failed.to_string();
        fanout_.stop(io::soon());
        server_.reset();
    }

    void start(SipServerOptions options) {
        if (server_) {
            EXPECT_FALSE(server_->stop(io::soon()));
        }
        server_ = std::make_unique<SipServer>(services_, std::move(options));
        auto socket = udp_socket();
        address_ = socket->local().net_address();
        EXPECT_FALSE(server_->wires().serve(std::move(socket)));
    }

    void publish() {
        stream_ = &registry_.get_or_create({std::string(stream::kDefaultVhost), "live", "stage"},
                                           {}, MonoClock::now());
        speaker_ = std::make_unique<Speaker>(*stream_);
    }

    std::vector<SipCallFacts> calls() const {
        std::vector<SipCallFacts> all;
        server_->for_each_call(
            [&](const SipCall& call) { all.push_back(call.facts(MonoClock::now())); });
        return all;
    }

    std::string number(const std::string& user) const {
        return fmt::format("sip:{}@127.0.0.1", user);
    }

    std::unique_ptr<SipServer> server_;
    NetAddress address_;
    stream::Stream* stream_ = nullptr;
    std::unique_ptr<Speaker> speaker_;
};

TEST_F(SipServerTest, AStreamIsHeardInPacketsOf20Milliseconds) {
    publish();
    Phone phone(address_);
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    EXPECT_THAT(phone.last.sdp, HasSubstr("PCMU/8000"));
    Bytes heard;
    ASSERT_TRUE(io::eventually([&] {
        speaker_->say();
        heard = phone.hear();
        return !heard.empty();
    }));
    const auto packet = rtp::PacketView::parse(heard);
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->payload_type(), 0);
    EXPECT_EQ(packet->payload().size(), kFrame);
    EXPECT_EQ(packet->payload()[0], 0x55);
    EXPECT_EQ(calls().at(0).play, "/live/stage");
}

TEST_F(SipServerTest, WhatThePhoneSaysIsAStream) {
    publish();
    Phone phone(address_);
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    const NetAddress to = phone.media_of_server();
    const stream::Stream* const said =
        registry_.find({std::string(stream::kDefaultVhost), "talk", "desk"});
    ASSERT_NE(said, nullptr);
    uint16_t sequence = 0;
    EXPECT_TRUE(io::eventually([&] {
        phone.say(to, sequence++);
        return said->audio().frames >= 3;
    }));
    EXPECT_EQ(said->audio().codec, media::Codec::kG711U);
}

TEST_F(SipServerTest, NothingIsTakenOfStrangers) {
    publish();
    Phone phone(address_);
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    const auto stranger = udp_socket("127.0.0.2:0");
    const NetAddress to = phone.media_of_server();
    EXPECT_TRUE(io::eventually([&] {
        (void)stranger->send({to, {}}, Phone::packet(1));
        return calls().at(0).strangers > 0;
    }));
    EXPECT_EQ(calls().at(0).packets_received, 0U);
}

TEST_F(SipServerTest, NothingIsLeftWhenThePhoneHangsUp) {
    publish();
    Phone phone(address_);
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    EXPECT_EQ(clients_.size(), 2U);
    phone.hang_up();
    EXPECT_TRUE(phone.waits_for(Kind::kEnded));
    EXPECT_TRUE(io::eventually([&] { return server_->calls() == 0; }));
    EXPECT_EQ(clients_.size(), 0U);
    EXPECT_EQ(registry_.find({std::string(stream::kDefaultVhost), "talk", "desk"}), nullptr);
}

TEST_F(SipServerTest, APhoneThatSendsTooMuchIsEnded) {
    policy_.publish.max_bits_per_second = 8'000;
    publish();
    Phone phone(address_);
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    const NetAddress to = phone.media_of_server();
    uint16_t sequence = 0;
    EXPECT_TRUE(io::eventually([&] {
        for (int i = 0; i < 10; i++) {
            phone.say(to, sequence++);
        }
        return phone.has(Kind::kEnded);
    }));
    EXPECT_TRUE(io::eventually([&] { return server_->calls() == 0; }));
    EXPECT_EQ(clients_.size(), 0U);
}

TEST_F(SipServerTest, ACallWhosePublisherDoesNotComeBackIsEnded) {
    policy_.play.pump.wait_publisher = Millis(50);
    publish();
    Phone phone(address_);
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    speaker_.reset();
    EXPECT_TRUE(phone.waits_for(Kind::kEnded));
    EXPECT_TRUE(io::eventually([&] { return server_->calls() == 0; }));
}

TEST_F(SipServerTest, AKickEndsTheCall) {
    publish();
    Phone phone(address_);
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    clients_.find(calls().at(0).publish_client)->kick();
    EXPECT_TRUE(phone.waits_for(Kind::kEnded));
    EXPECT_TRUE(io::eventually([&] { return server_->calls() == 0; }));
    EXPECT_EQ(clients_.size(), 0U);
}

TEST_F(SipServerTest, AnotherPublisherMayTakeTheCallersStream) {
    policy_.publish.conflict = stream::PublishConflict::kTakeover;
    publish();
    Phone phone(address_);
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    Phone other(address_);
    other.call(number("100"));
    ASSERT_TRUE(other.waits_for(Kind::kAnswered));
    EXPECT_TRUE(phone.waits_for(Kind::kEnded));
    EXPECT_TRUE(io::eventually([&] { return server_->calls() == 1; }));
}

TEST_F(SipServerTest, CallsTakePlacesOfMaxConnections) {
    connections_.set_limit(1);
    publish();
    Phone phone(address_);
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kFailed));
    EXPECT_EQ(phone.last.status, 503);
    EXPECT_TRUE(io::eventually([&] { return server_->calls() == 0; }));
    EXPECT_EQ(connections_.used(), 0U);
}

TEST_F(SipServerTest, APhoneOnHoldHearsNothing) {
    publish();
    Phone phone(address_);
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    phone.offer(sdp::Direction::kSendOnly);
    ASSERT_TRUE(phone.waits_for(Kind::kOfferAnswered));
    EXPECT_THAT(phone.last.sdp, HasSubstr("a=recvonly"));
    EXPECT_TRUE(calls().at(0).held);
    while (!phone.hear().empty()) {
    }
    for (int i = 0; i < 5; i++) {
        speaker_->say();
        io::yield();
    }
    EXPECT_TRUE(phone.hear().empty());
    phone.offer(sdp::Direction::kSendRecv);
    ASSERT_TRUE(phone.waits_for(Kind::kOfferAnswered));
    EXPECT_TRUE(io::eventually([&] {
        speaker_->say();
        return !phone.hear().empty();
    }));
}

TEST_F(SipServerTest, ThePhoneRingsUntilSomebodyPublishes) {
    Phone phone(address_);
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kProgress));
    EXPECT_EQ(phone.last.status, 180);
    publish();
    EXPECT_TRUE(phone.waits_for(Kind::kAnswered));
}

TEST_F(SipServerTest, NobodyPublishesInTime) {
    policy_.play.pump.wait_publisher = Millis(50);
    Phone phone(address_);
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kFailed));
    EXPECT_EQ(phone.last.status, 480);
    EXPECT_TRUE(io::eventually([&] { return server_->calls() == 0; }));
}

TEST_F(SipServerTest, ACallThatIsGivenUpWhileItRingsLeavesNothing) {
    Phone phone(address_);
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kProgress));
    phone.hang_up();
    EXPECT_TRUE(phone.waits_for(Kind::kFailed));
    EXPECT_TRUE(io::eventually([&] { return server_->calls() == 0; }));
    EXPECT_EQ(clients_.size(), 0U);
}

TEST_F(SipServerTest, AStreamIsCalledByItsName) {
    publish();
    Phone phone(address_);
    phone.call(number("live/stage"));
    EXPECT_TRUE(phone.waits_for(Kind::kAnswered));
    EXPECT_THAT(calls().at(0).publish, HasSubstr("/sip/"));
}

TEST_F(SipServerTest, NobodyHasTheNumber) {
    Phone phone(address_);
    phone.call(number("200"));
    ASSERT_TRUE(phone.waits_for(Kind::kFailed));
    EXPECT_EQ(phone.last.status, 404);
}

TEST_F(SipServerTest, WhoMayNotPublishOnlyHears) {
    SipServerOptions options;
    options.trunks.push_back({NetAddress::parse_ip("127.0.0.1", 0)->v6(), 128});
    options.dial.push_back({"100", "live/stage", "closed/desk"});
    start(std::move(options));
    publish();
    Phone phone(address_);
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    EXPECT_THAT(phone.last.sdp, HasSubstr("a=sendonly"));
    EXPECT_EQ(clients_.size(), 1U);
}

TEST_F(SipServerTest, UsersShowTheirPassword) {
    for (const SipDigest digest : {SipDigest::kMd5, SipDigest::kSha256, SipDigest::kBoth}) {
        SipServerOptions options;
        options.digest = digest;
        options.users.push_back({"alice", "secret"});
        options.dial.push_back({"100", "live/stage", ""});
        start(std::move(options));
        if (!speaker_) {
            publish();
        }
        Phone right(address_);
        right.call(number("100"), "alice", "secret");
        EXPECT_TRUE(right.waits_for(Kind::kAnswered));
        EXPECT_EQ(calls().at(0).user, "alice");
        for (const auto& [user, password] :
             {std::pair("alice", "wrong"), std::pair("bob", "secret"), std::pair("", "")}) {
            Phone wrong(address_);
            wrong.call(number("100"), user, password);
            ASSERT_TRUE(wrong.waits_for(Kind::kFailed)) << user;
            EXPECT_EQ(wrong.last.status, 401) << user;
        }
    }
}

TEST_F(SipServerTest, WhoGuessesPasswordsIsRefusedForAWhile) {
    SipServerOptions options;
    options.users.push_back({"alice", "secret"});
    start(std::move(options));
    int status = 0;
    for (int i = 0; i < 20 && status != 403; i++) {
        Phone phone(address_);
        phone.call(number("100"), "alice", fmt::format("guess{}", i));
        ASSERT_TRUE(phone.waits_for(Kind::kFailed));
        status = phone.last.status;
    }
    EXPECT_EQ(status, 403);
}

TEST_F(SipServerTest, NobodyMayCallUntilSomebodyIsNamed) {
    start({});
    Phone phone(address_);
    phone.call(number("live/stage"));
    ASSERT_TRUE(phone.waits_for(Kind::kFailed));
    EXPECT_EQ(phone.last.status, 403);
}

TEST_F(SipServerTest, GarbageIsCounted) {
    const auto socket = udp_socket();
    for (const std::string& text :
         {std::string(2000, 'x'), std::string("INVITE sip:a@b SIP/2.0\r\n\r\n"), std::string()}) {
        (void)socket->send({address_, {}}, as_bytes(text));
    }
    EXPECT_TRUE(io::eventually([&] { return server_->wires().counters().malformed >= 1; }));
    EXPECT_EQ(server_->calls(), 0U);
}

TEST_F(SipServerTest, StoppingEndsCallsInEveryState) {
    Phone rings(address_);
    rings.call(number("100"));
    ASSERT_TRUE(rings.waits_for(Kind::kProgress));
    Phone talks(address_);
    publish();
    talks.call(number("live/stage"));
    ASSERT_TRUE(talks.waits_for(Kind::kAnswered));
}

}  // namespace
}  // namespace weir::session
