// A SIP server over real sockets, and telephones.
#include "session/sip/sip_server.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/session/sip/sip_world.h"

namespace weir::session {
namespace {

using testing::HasSubstr;
using Kind = sip::CallEvent::Kind;

class SipServerTest : public SipWorld {};

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
    EXPECT_EQ(packet->payload().size(), kPhoneFrame);
    EXPECT_EQ(packet->payload()[0], 0x55);
    EXPECT_EQ(calls().at(0).play, "/live/stage");
}

// Transport streams bring up to 0.4 s of audio at once.
TEST_F(SipServerTest, AudioThatComesInBunchesIsHeardInEvenSteps) {
    constexpr size_t kBunch = 15;
    publish();
    Phone phone(address_);
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    std::vector<MonoTime> heard_at;
    std::vector<bool> markers;
    const auto hear = [&] {
        const Bytes heard = phone.hear();
        if (const auto packet = rtp::PacketView::parse(heard)) {
            heard_at.push_back(MonoClock::now());
            markers.push_back(packet->marker());
        }
    };
    ASSERT_TRUE(io::eventually([&] {
        speaker_->say();
        hear();
        return !heard_at.empty();
    }));
    for (size_t i = 0; i < kBunch; i++) {
        speaker_->say();
    }
    ASSERT_TRUE(io::eventually([&] {
        hear();
        return heard_at.size() > kBunch;
    }));
    // A tick may be late, none is early.
    EXPECT_GE(heard_at.back() - heard_at[1], Millis(20) * (kBunch - 1) - Millis(100));
    EXPECT_EQ(std::count(markers.begin() + 1, markers.end(), true), 0)
        << "the marker is for silence that has ended (RFC 3551 4.1)";
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
