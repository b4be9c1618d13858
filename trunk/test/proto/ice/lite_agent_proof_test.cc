// Media goes where the peer was proven to be, and nowhere else.
#include <array>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "test/proto/ice/agent_fixture.h"

namespace weir::ice {
namespace {

const Path kVictim{NetAddress::from_v4({192, 0, 2, 66}, 53), 0};

class LiteAgentProofTest : public LiteAgentTest {
  protected:
    NetAddress media() const {
        return agent_->media_path() ? agent_->media_path()->remote : NetAddress();
    }

    // The next check of ours, and where it goes; empty: none is due now.
    Bytes next_check(Path& to) {
        std::array<uint8_t, kMaxCheckBytes> out{};
        size_t bytes = 0;
        const Path* path = agent_->poll_check(now_, out, bytes);
        if (path == nullptr) {
            return {};
        }
        to = *path;
        return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(bytes)};
    }

    // A valid check of the peer, whose path is not proven; our check for it.
    Bytes unanswered_check(const Path& from) {
        std::array<uint8_t, kMaxResponseBytes> out{};
        EXPECT_EQ(agent_->handle_packet(now_, check().nominating().bytes(), from, out).verdict,
                  Verdict::kAccepted);
        Path to;
        Bytes sent = next_check(to);
        EXPECT_EQ(to, from);
        return sent;
    }
};

TEST_F(LiteAgentProofTest, ChecksANewPathOnceAndTakesTheAnswerForProof) {
    Bytes sent = unanswered_check(kWifi);
    stun::MessageView view;
    ASSERT_EQ(stun::MessageView::parse(sent, view), stun::ParseStatus::kDone);
    EXPECT_EQ(view.message_class, stun::MessageClass::kRequest);
    EXPECT_EQ(*view.username, "peer:" + std::string(credentials_.ufrag_text()));
    EXPECT_TRUE(view.check_integrity(peer_.key()));
    EXPECT_TRUE(view.ice_controlled && !view.use_candidate && view.priority);
    EXPECT_EQ(agent_->media_path(), nullptr);
    EXPECT_FALSE(agent_->was_proven());
    EXPECT_EQ(receive(test::answer_to(sent, peer_, kWifi), kWifi), Verdict::kAnswer);
    EXPECT_EQ(media(), kWifi.remote);
    EXPECT_EQ(proven_, std::vector{kWifi});
    receive(check(), kWifi);
    Path to;
    EXPECT_TRUE(next_check(to).empty()) << "a proven path is not checked again";
}

TEST_F(LiteAgentProofTest, TakesNothingElseForProof) {
    const Bytes sent = unanswered_check(kWifi);
    const RemoteCredentials other{"peer", "some-other-password-here"};
    Bytes forged = test::answer_to(sent, peer_, kWifi);
    forged[15] ^= 1;  // of the transaction number
    stun::MessageView asked;
    ASSERT_EQ(stun::MessageView::parse(sent, asked), stun::ParseStatus::kDone);
    std::array<uint8_t, 100> out{};
    stun::MessageWriter plain(out, stun::MessageClass::kSuccess, stun::kBinding, asked.transaction);
    plain.xor_mapped_address(kWifi.remote);  // as a public STUN server answers
    const Bytes unsigned_answer(plain.message().begin(), plain.message().end());
    stun::MessageWriter wrong(out, stun::MessageClass::kSuccess, stun::kBinding, asked.transaction);
    wrong.integrity(other.key());
    const Bytes of_another(wrong.message().begin(), wrong.message().end());
    stun::MessageWriter refusal(out, stun::MessageClass::kError, stun::kBinding, asked.transaction);
    refusal.error_code(stun::kUnauthenticated, "").integrity(peer_.key());
    const Bytes error(refusal.message().begin(), refusal.message().end());
    for (const Bytes& bytes : {forged, unsigned_answer, of_another, error}) {
        EXPECT_NE(receive(bytes, kWifi), Verdict::kAnswer);
    }
    EXPECT_NE(receive(test::answer_to(sent, peer_, kWifi), kMobile), Verdict::kAnswer)
        << "from another address than the check went to";
    EXPECT_EQ(agent_->media_path(), nullptr);
    EXPECT_EQ(receive(test::answer_to(sent, peer_, kWifi), kWifi), Verdict::kAnswer);
}

TEST_F(LiteAgentProofTest, AnAddressThatNeverAnswersDoesNotGetTheMedia) {
    receive(check().nominating(), kWifi);
    answers_ = false;
    for (int i = 0; i < 200; i++) {
        receive(check().nominating(), kVictim);
        pass(Millis(100));
        ASSERT_EQ(media(), kWifi.remote) << i;
        answers_ = true;
        receive(check().nominating(), kWifi);
        answers_ = false;
    }
    EXPECT_EQ(selected(), kWifi.remote);
}

TEST_F(LiteAgentProofTest, NobodyGetsTheMediaWhenTheProvenPathIsGone) {
    receive(check().nominating(), kTcp);
    answers_ = false;
    receive(check().nominating(), kVictim);
    agent_->forget_link(kTcp.link);
    drain();
    EXPECT_EQ(selected(), kVictim.remote);
    EXPECT_EQ(agent_->media_path(), nullptr);
    for (int i = 0; i < 10; i++) {
        pass(Seconds(20));
        receive(check().nominating(), kVictim);
        EXPECT_EQ(agent_->media_path(), nullptr);
    }
}

TEST_F(LiteAgentProofTest, MovesWithTheFirstAnswerFromANewAddress) {
    receive(check().nominating(), kWifi);
    pass(Seconds(3));
    answers_ = false;
    const Bytes sent = unanswered_check(kMobile);
    EXPECT_EQ(media(), kWifi.remote) << "the old path stays until then";
    now_ += Millis(80);  // the way there and back
    receive(test::answer_to(sent, peer_, kMobile), kMobile);
    EXPECT_EQ(media(), kMobile.remote);
}

TEST_F(LiteAgentProofTest, RepeatsALostCheckWithinASecond) {
    answers_ = false;
    receive(check().nominating(), kWifi);  // ours is lost
    pass(Millis(60));
    receive(check().nominating(), kWifi);
    answers_ = true;
    pass(Millis(150));
    EXPECT_EQ(media(), kWifi.remote);
}

TEST_F(LiteAgentProofTest, AnUnprovenAddressGetsAtMostThreeTimesWhatItSent) {
    answers_ = false;
    SeededRandom random(7);
    std::map<uint16_t, std::pair<uint64_t, uint64_t>> bytes;  // by port: from there, to there
    const auto count_checks = [&] {
        std::array<uint8_t, kMaxCheckBytes> out{};
        size_t size = 0;
        while (const Path* to = agent_->poll_check(now_, out, size)) {
            bytes[to->remote.port()].second += size;
        }
        while (agent_->poll_event()) {
        }
    };
    for (int i = 0; i < 20'000; i++) {
        const Path from = path_number(static_cast<uint16_t>(1 + random.next() % 12));
        auto& [received, sent] = bytes[from.remote.port()];
        std::array<uint8_t, kMaxResponseBytes> out{};
        Check some = check();
        some.use_candidate = random.chance(50);
        some.sha256 = random.chance(30);
        some.fingerprint = random.chance(50);
        some.password = random.chance(80) ? some.password : "wrong";
        const Bytes packet = some.bytes();
        switch (random.next() % 4) {
            case 0:
                received += packet.size();
                sent += agent_->handle_packet(now_, packet, from, out).response_bytes;
                break;
            case 1: {
                const size_t flight = random.next() % 2000;
                sent += agent_->take(from, flight) ? flight : 0;
                break;
            }
            case 2:
                if (agent_->path_count() > 0) {
                    agent_->note_received(now_, from, 150, false);
                    received += 150;
                }
                break;
            default: now_ += Millis(random.next() % 100); agent_->handle_timeout(now_);
        }
        count_checks();
        if (agent_->ended()) {
            restart_agent({});
        }
        for (const auto& [port, total] : bytes) {
            ASSERT_LE(total.second, 3 * total.first) << port;
        }
    }
    EXPECT_EQ(agent_->was_proven(), false);
}

TEST_F(LiteAgentProofTest, TheOwnerMayProveAPath) {
    answers_ = false;
    receive(check().nominating(), kTcp);
    EXPECT_EQ(agent_->media_path(), nullptr);
    agent_->prove(now_, kTcp);
    drain();
    EXPECT_EQ(media(), kTcp.remote);
    EXPECT_EQ(proven_, std::vector{kTcp});
    agent_->prove(now_, kMobile);  // nothing is known of it
    drain();
    EXPECT_EQ(proven_.size(), 1U);
}

TEST_F(LiteAgentProofTest, APathThatIsAnothersMustBeProvenAnew) {
    receive(check().nominating(), kWifi);
    answers_ = false;
    agent_->distrust(now_, kWifi);
    drain();
    EXPECT_EQ(agent_->media_path(), nullptr);
    const Bytes sent = unanswered_check(kWifi);
    ASSERT_FALSE(sent.empty());
    receive(test::answer_to(sent, peer_, kWifi), kWifi);
    EXPECT_EQ(media(), kWifi.remote);
    EXPECT_EQ(proven_.size(), 2U) << "the owner hears of it again";
}

TEST_F(LiteAgentProofTest, AuthenticMediaFromAnotherPortMovesItWhenTheOldOneIsSilent) {
    receive(check().nominating(), kWifi);
    receive(check(), kMobile);  // pion does not nominate again behind a new port of its NAT
    agent_->note_received(now_, kMobile, 60, true);
    EXPECT_EQ(media(), kWifi.remote) << "the old one was heard just now";
    pass(Millis(600));
    agent_->note_received(now_, kMobile, 60, false);
    EXPECT_EQ(media(), kWifi.remote);
    agent_->note_received(now_, kMobile, 60, true);
    EXPECT_EQ(media(), kWifi.remote) << "one packet may have come late";
    agent_->note_received(now_, kMobile, 60, true);
    EXPECT_EQ(media(), kMobile.remote);
    drain();
    pass(Millis(600));
    answers_ = false;
    receive(check(), kVictim);
    agent_->note_received(now_, kVictim, 60, true);
    agent_->note_received(now_, kVictim, 60, true);
    EXPECT_EQ(media(), kMobile.remote) << "not proven";
}

TEST_F(LiteAgentProofTest, FailsWhenNothingIsProvenInTime) {
    answers_ = false;
    receive(check().nominating(), kWifi);
    for (int i = 0; i < 29; i++) {
        pass(Seconds(1));
        receive(check().nominating(), kWifi);
    }
    EXPECT_EQ(agent_->state(), State::kConnected);
    pass(Seconds(1));
    EXPECT_EQ(agent_->state(), State::kFailed);
    EXPECT_NE(describe_arrivals(*agent_).find("answered no check of ours"), std::string::npos);
}

TEST_F(LiteAgentProofTest, ChecksWithTheCredentialsOfTheGenerationThatThePathUses) {
    receive(check().nominating(), kWifi);
    const Check old = check();
    const RemoteCredentials old_peer = peer_;
    peer_ = {"new1", "another-password-of-the-peer"};
    credentials_ = Credentials::make(random_);
    agent_->restart(credentials_, peer_);
    receive(old.nominating(), kMobile);
    EXPECT_FALSE(agent_->is_proven(kMobile)) << "the peer of the fixture has new credentials";
    pass(Millis(60));
    std::array<uint8_t, kMaxResponseBytes> out{};
    agent_->handle_packet(now_, old.bytes(), kMobile, out);
    Path to;
    const Bytes sent = next_check(to);
    EXPECT_EQ(receive(test::answer_to(sent, old_peer, kMobile), kMobile), Verdict::kAnswer);
    receive(check().nominating(), kTcp);
    EXPECT_TRUE(agent_->is_proven(kTcp));
}

// What is told is what there is, also when a path comes back before its removal was polled.
TEST_F(LiteAgentProofTest, APathThatComesBackIsAnnouncedAgain) {
    receive(check().nominating(), kTcp);
    events();
    agent_->forget_link(kTcp.link);
    receive(check().nominating(), kTcp);
    EXPECT_EQ(events(), (std::vector{Event::Type::kPathRemoved, Event::Type::kPathAdded,
                                     Event::Type::kPathSelected}));
    EXPECT_EQ(proven_.size(), 2U);
}

}  // namespace
}  // namespace weir::ice
