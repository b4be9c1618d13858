// Lines whose domain is this server itself: its users by another protocol, beside its phones.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/sip/sip_lines.h"

#include "test/session/sip/line_owner.h"
#include "test/session/sip/sip_phone.h"
#include "test/session/sip/sip_world.h"

namespace weir::session {
namespace {

using testing::Contains;
using testing::Not;
using testing::StartsWith;
using Kind = sip::CallEvent::Kind;

class SipOwnLinesTest : public SipWorld {
  protected:
    SipOwnLinesTest() { start_with(options()); }

    static SipServerOptions options() {
        SipServerOptions options;
        options.users = {{"alice", "secret"}, {"bob", "hidden"}};
        options.dial.push_back({"100", "live/stage", "talk/desk"});
        return options;
    }

    // A server that has lines of its own address.
    void start_with(SipServerOptions options) {
        start(options);
        options.line_domains = {address_.to_string()};
        server_->reconfigure(std::move(options));
    }

    static stream::StreamKey key(const std::string& user, const std::string& name) {
        return {std::string(stream::kDefaultVhost), "sip/" + user, name};
    }

    Error open(LineOwner& owner, const std::string& user, const std::string& password) {
        return open(owner, user, password, address_.to_string());
    }

    Error open(LineOwner& owner,
               const std::string& user,
               const std::string& password,
               const std::string& domain) {
        net::PhoneLineRequest request;
        request.user = user;
        request.domain = domain;
        request.password = password;
        request.local = key(user, "local");
        request.remote = key(user, "remote");
        request.peer = *NetAddress::parse_ip("192.0.2.9", 1);
        Result<std::unique_ptr<net::PhoneLine>> made = server_->lines().open(request, owner);
        if (made.ok()) {
            owner.line = std::move(*made);
        }
        return made.take_error();
    }

    static bool hears(LineOwner& owner, const std::string& what) {
        return io::eventually([&] {
            return std::ranges::any_of(
                owner.told, [&](const std::string& each) { return each.starts_with(what); });
        });
    }

    bool ready(LineOwner& owner, const std::string& user, const std::string& password) {
        return !open(owner, user, password) && hears(owner, "ready");
    }

    // What `user` publishes as `local` is what `other` has as `remote`.
    void expect_sound(const std::string& user, const std::string& other) {
        stream::Stream& local = registry_.get_or_create(key(user, "local"), {}, MonoClock::now());
        {
            Speaker speaker(local);
            EXPECT_TRUE(io::eventually([&] {
                speaker.say();
                const stream::Stream* const said = registry_.find(key(other, "remote"));
                return said != nullptr && said->audio().frames >= 3;
            })) << user
                << " is not heard by " << other;
        }
        registry_.release(local);
    }

    const std::vector<std::string> pcmu_{"pcmu"};
};

TEST_F(SipOwnLinesTest, ALineThatNamesNoDomainIsOfThisServerAndCallsNoOther) {
    SipServerOptions options = this->options();
    server_->reconfigure(options);
    LineOwner alice;
    LineOwner bob;
    EXPECT_EQ(open(alice, "alice", "secret", "").code(), ErrorCode::kDenied) << "there are none";
    options.own_domain = address_.to_string();
    options.line_domains = {"pbx.example.org"};
    server_->reconfigure(options);
    EXPECT_EQ(open(alice, "alice", "secret", address_.to_string()).code(), ErrorCode::kDenied)
        << "it is no domain of rtmp_lines";
    ASSERT_FALSE(open(alice, "alice", "secret", ""));
    ASSERT_FALSE(open(bob, "bob", "hidden", ""));
    ASSERT_TRUE(hears(alice, "ready"));
    ASSERT_TRUE(hears(bob, "ready"));
    EXPECT_EQ(alice.line->invite("sip:bob@pbx.example.org", pcmu_).code(), ErrorCode::kDenied);
    EXPECT_EQ(alice.line->invite("bob@192.0.2.1", pcmu_).code(), ErrorCode::kDenied);
    ASSERT_FALSE(alice.line->invite("bob", pcmu_));
    ASSERT_TRUE(hears(bob, "invited by sip:alice@"));
}

TEST_F(SipOwnLinesTest, TwoLinesCallEachOther) {
    LineOwner alice;
    LineOwner bob;
    ASSERT_TRUE(ready(alice, "alice", "secret"));
    ASSERT_TRUE(ready(bob, "bob", "hidden"));
    EXPECT_EQ(server_->registrar().size(), 2U);
    ASSERT_FALSE(alice.line->invite("bob", pcmu_));
    ASSERT_TRUE(hears(bob, "invited by sip:alice@"));
    EXPECT_EQ(bob.called, "sip:bob@" + address_.to_string()) << "and not its Contact";
    ASSERT_TRUE(hears(alice, "ringing 180"));
    ASSERT_FALSE(bob.line->accept({}));
    EXPECT_THAT(bob.told, Not(Contains("accepted pcmu/"))) << "not inside of accept()";
    ASSERT_TRUE(hears(alice, "accepted pcmu/"));
    ASSERT_TRUE(hears(bob, "accepted pcmu/"));
    expect_sound("alice", "bob");
    expect_sound("bob", "alice");
    ASSERT_FALSE(alice.line->hold(true));
    EXPECT_TRUE(hears(bob, "held"));
    ASSERT_TRUE(io::eventually([&] { return !alice.line->hold(false); }));
    EXPECT_TRUE(hears(bob, "resumed"));
    ASSERT_FALSE(bob.line->send_digits("7"));
    EXPECT_TRUE(hears(alice, "digit 7"));
    ASSERT_FALSE(bob.line->hang_up());
    EXPECT_TRUE(hears(alice, "ended"));
    EXPECT_TRUE(io::eventually([&] { return server_->calls() == 0; }));

    alice.told.clear();
    bob.told.clear();
    ASSERT_FALSE(bob.line->invite("sip:alice@" + address_.to_string(), pcmu_));
    ASSERT_TRUE(hears(alice, "invited by sip:bob@"));
    ASSERT_FALSE(alice.line->reject(486));
    EXPECT_TRUE(hears(bob, "rejected 486"));
}

TEST_F(SipOwnLinesTest, ALineCallsAPhoneAndIsCalled) {
    SipPhone phone(address_);
    ASSERT_TRUE(phone.registers("bob", "hidden"));
    LineOwner alice;
    ASSERT_TRUE(ready(alice, "alice", "secret"));
    ASSERT_FALSE(alice.line->invite("bob", pcmu_));
    ASSERT_TRUE(phone.waits_for(Kind::kInvited));
    ASSERT_TRUE(phone.accept());
    ASSERT_TRUE(hears(alice, "accepted pcmu/"));
    phone.hang_up();
    ASSERT_TRUE(hears(alice, "ended"));

    alice.told.clear();
    phone.call("sip:alice@" + address_.to_string(), "bob", "hidden");
    ASSERT_TRUE(io::eventually([&] {
        phone.turn();
        return !alice.told.empty();
    }));
    ASSERT_FALSE(alice.line->accept({}));
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    const NetAddress to = SipPhone::audio_of(phone.last.sdp);
    uint16_t sequence = 0;
    EXPECT_TRUE(io::eventually([&] {
        phone.say(to, sequence++);
        const stream::Stream* const said = registry_.find(key("alice", "remote"));
        return said != nullptr && said->audio().frames >= 3;
    }));
    ASSERT_FALSE(alice.line->hang_up());
    EXPECT_TRUE(phone.waits_for(Kind::kEnded));
}

TEST_F(SipOwnLinesTest, ALineCallsAStream) {
    publish();
    LineOwner alice;
    ASSERT_TRUE(ready(alice, "alice", "secret"));
    ASSERT_FALSE(alice.line->invite("100", pcmu_));
    ASSERT_TRUE(hears(alice, "accepted pcmu/"));
    EXPECT_TRUE(io::eventually([&] {
        speaker_->say();
        const stream::Stream* const said = registry_.find(key("alice", "remote"));
        return said != nullptr && said->audio().frames >= 3;
    }));
}

TEST_F(SipOwnLinesTest, GuessingIsSlowedByTheAddressOfWhoGuesses) {
    LineOwner bob;
    ASSERT_TRUE(ready(bob, "bob", "hidden"));
    for (int i = 0; i < static_cast<int>(SipLines::kRefusals.burst); i++) {
        LineOwner guess;
        ASSERT_FALSE(open(guess, "alice", "wrong"));
        ASSERT_TRUE(hears(guess, "failed 401"));
    }
    LineOwner alice;
    EXPECT_EQ(open(alice, "alice", "secret").code(), ErrorCode::kDenied);
    ASSERT_FALSE(bob.line->invite("alice", pcmu_)) << "other lines have the same address here";
    EXPECT_TRUE(hears(bob, "rejected 480"));
}

TEST_F(SipOwnLinesTest, ManyGuessesAtOnceAreNoMoreThanOneBehindTheOther) {
    constexpr size_t kGuesses = 15;
    const auto burst = static_cast<size_t>(SipLines::kRefusals.burst);
    std::array<LineOwner, kGuesses> guesses;
    for (LineOwner& each : guesses) {
        ASSERT_FALSE(open(each, "alice", "wrong"));
    }
    size_t judged = 0;
    for (LineOwner& each : guesses) {
        ASSERT_TRUE(hears(each, "failed 40"));
        judged += each.told.back().starts_with("failed 401") ? 1U : 0U;
    }
    EXPECT_EQ(judged, burst);
}

TEST_F(SipOwnLinesTest, ManyLinesAtOnceAllRegister) {
    std::array<LineOwner, 12> owners;
    SipServerOptions many = options();
    for (size_t i = 0; i < owners.size(); i++) {
        many.users.push_back({"user" + std::to_string(i), "secret"});
    }
    start_with(std::move(many));
    for (size_t i = 0; i < owners.size(); i++) {
        ASSERT_FALSE(open(owners[i], "user" + std::to_string(i), "secret"));
    }
    for (LineOwner& each : owners) {
        EXPECT_TRUE(hears(each, "ready"));
    }
}

TEST_F(SipOwnLinesTest, ALineIsNoTrunk) {
    SipServerOptions with_trunk = options();
    with_trunk.trunks.push_back({NetAddress::parse_ip("127.0.0.1", 0)->v6(), 128});
    start_with(std::move(with_trunk));
    LineOwner guest;
    ASSERT_TRUE(ready(guest, "alice", ""));
    ASSERT_FALSE(guest.line->invite("100", pcmu_));
    EXPECT_TRUE(hears(guest, "rejected 401"));
    LineOwner alice;
    EXPECT_TRUE(ready(alice, "alice", "secret"));
    EXPECT_TRUE(hears(guest, "failed another"));
}

TEST_F(SipOwnLinesTest, ACallThatRingsEndsWithTheLine) {
    LineOwner alice;
    LineOwner bob;
    ASSERT_TRUE(ready(alice, "alice", "secret"));
    ASSERT_TRUE(ready(bob, "bob", "hidden"));
    ASSERT_FALSE(alice.line->invite("bob", pcmu_));
    ASSERT_TRUE(hears(bob, "invited"));
    bob.line.reset();
    EXPECT_TRUE(hears(alice, "rejected 48"));
    EXPECT_TRUE(io::eventually([&] {
        return server_->calls() == 0 && server_->lines().size() == 1 &&
               server_->registrar().size() == 1;
    }));
}

TEST_F(SipOwnLinesTest, TheServerStopsInTheMiddleOfCalls) {
    LineOwner alice;
    LineOwner bob;
    LineOwner rings;
    ASSERT_TRUE(ready(alice, "alice", "secret"));
    ASSERT_TRUE(ready(bob, "bob", "hidden"));
    ASSERT_FALSE(alice.line->invite("bob", pcmu_));
    ASSERT_TRUE(hears(bob, "invited"));
    ASSERT_FALSE(bob.line->accept({}));
    ASSERT_TRUE(hears(alice, "accepted"));
    ASSERT_FALSE(open(rings, "carol", "not known yet"));
    EXPECT_FALSE(server_->stop(io::soon()));
    EXPECT_THAT(alice.told, Contains("failed the server stops"));
    EXPECT_THAT(rings.told, Contains("failed the server stops"));
    EXPECT_TRUE(alice.line->hang_up());
}

TEST_F(SipOwnLinesTest, TextsAreChecked) {
    LineOwner owner;
    EXPECT_EQ(open(owner, "al ice", "secret").code(), ErrorCode::kMalformed);
    EXPECT_EQ(open(owner, "alice", "secret\r\nX: y").code(), ErrorCode::kMalformed);
    EXPECT_EQ(open(owner, "alice", std::string(SipLines::kMaxText + 1, 'a')).code(),
              ErrorCode::kMalformed);
}

}  // namespace
}  // namespace weir::session
