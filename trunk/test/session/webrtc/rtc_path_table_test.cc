// Two sessions that want one path: the one whose peer is there has it, whatever the other one's
// peer forges, and in whatever order datagrams arrive.
#include "session/webrtc/rtc_path_table.h"

#include <array>
#include <deque>
#include <optional>

#include <gtest/gtest.h>

#include "test/proto/ice/support.h"

namespace weir::session {
namespace {

using ice::test::Check;
using ice::test::SeededRandom;

const ice::Path kContested{NetAddress::from_v4({198, 51, 100, 7}, 50'000), 0};

// A session as far as paths are concerned: what RtcSession does with its agent.
class Holder {
  public:
    Holder(RtcPathTable<Holder>& table, uint32_t number, RandomSource& random, MonoTime now)
        : table_(table), local_(ice::Credentials::make(random)) {
        peer_.ufrag = "peer" + std::to_string(number);
        peer_.password = "the-password-of-peer-" + std::to_string(number);
        ice::AgentOptions options;
        options.check_tag = number;
        agent_.emplace(now, options, local_, peer_, random);
    }

    ~Holder() {
        agent_->visit_paths([this](const ice::Path& path) { table_.remove(path, *this); });
    }

    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;

    Bytes check(bool nominating) const {
        Check made = Check::with(local_);
        made.use_candidate = nominating;
        return made.bytes();
    }

    void receive(MonoTime now, const Bytes& datagram, const ice::Path& from) {
        std::array<uint8_t, ice::kMaxResponseBytes> out{};
        const ice::Reply reply = agent_->handle_packet(now, datagram, from, out);
        if (reply.verdict == ice::Verdict::kAccepted) {
            table_.note_check(now, from, *this);
        }
        drain(now);
    }

    void drain(MonoTime now) {
        while (const auto event = agent_->poll_event()) {
            if (event->type == ice::Event::Type::kPathRemoved) {
                table_.remove(event->path, *this);
            } else if (event->type == ice::Event::Type::kPathProven) {
                table_.take(now, event->path, *this);
            }
        }
    }

    bool holds_path(MonoTime now, const ice::Path& path) const { return agent_->holds(now, path); }

    void on_path_lost(MonoTime now, const ice::Path& path) {
        agent_->distrust(now, path);
        drain(now);
    }

    // Its next check of the contested path; empty when none is due.
    Bytes poll_check(MonoTime now) {
        std::array<uint8_t, ice::kMaxCheckBytes> out{};
        size_t bytes = 0;
        const ice::Path* to = agent_->poll_check(now, out, bytes);
        if (to == nullptr) {
            return {};
        }
        return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(bytes)};
    }

    ice::LiteAgent& agent() { return *agent_; }

    const ice::RemoteCredentials& peer() const { return peer_; }

    bool sends_media_to(const ice::Path& path) const {
        return agent_->media_path() != nullptr && *agent_->media_path() == path;
    }

  private:
    RtcPathTable<Holder>& table_;
    ice::Credentials local_;
    ice::RemoteCredentials peer_;
    std::optional<ice::LiteAgent> agent_;
};

class RtcPathTableTest : public ::testing::Test {
  protected:
    void start(uint64_t seed) {
        random_.emplace(seed);
        on_the_way_.clear();
        for (size_t i = 0; i < 2; i++) {
            sessions_[i].emplace(table_, static_cast<uint32_t>(i + 1), *random_, now_);
        }
    }

    void TearDown() override {
        for (auto& session : sessions_) {
            session.reset();
        }
        EXPECT_EQ(table_.size(), 0U) << "paths of nobody stay";
    }

    // A check of that session's peer is on the way, from the contested address, truly or forged.
    void send_check(size_t session) {
        on_the_way_.push_back({session, sessions_[session]->check(random_->chance(70)), false});
    }

    // One datagram arrives, any of those on the way; our checks go out.
    void deliver_one() {
        const size_t index = random_->next() % on_the_way_.size();
        const Datagram arrived = on_the_way_[index];
        on_the_way_.erase(on_the_way_.begin() + static_cast<std::ptrdiff_t>(index));
        if (arrived.to_peer) {
            // Only who is there hears it, and answers what is for it.
            const Bytes answer =
                ice::test::answer_to(arrived.bytes, sessions_[resident_]->peer(), kContested);
            if (!answer.empty()) {
                on_the_way_.push_back({arrived.session, answer, false});
            }
        } else {
            sessions_[arrived.session]->receive(now_, arrived.bytes, kContested);
        }
        for (size_t i = 0; i < sessions_.size(); i++) {
            for (Bytes check = sessions_[i]->poll_check(now_); !check.empty();
                 check = sessions_[i]->poll_check(now_)) {
                on_the_way_.push_back({i, check, true});
            }
        }
        check_invariants();
    }

    void deliver_all() {
        while (!on_the_way_.empty()) {
            deliver_one();
        }
    }

    void check_invariants() {
        ASSERT_FALSE(sessions_[0]->sends_media_to(kContested) &&
                     sessions_[1]->sends_media_to(kContested))
            << "the media of two sessions goes to one peer";
        for (auto& session : sessions_) {
            ASSERT_TRUE(!session->sends_media_to(kContested) ||
                        table_.owner(kContested) == &*session)
                << "media goes to a path, and what comes from there is another's";
        }
    }

    struct Datagram {
        size_t session = 0;
        Bytes bytes;
        bool to_peer = false;
    };

    MonoTime now_{std::chrono::hours(1)};
    std::optional<SeededRandom> random_;
    RtcPathTable<Holder> table_;
    std::array<std::optional<Holder>, 2> sessions_;
    std::deque<Datagram> on_the_way_;
    size_t resident_ = 0;  // whose peer truly is at the contested address
};

TEST_F(RtcPathTableTest, AForgedCheckTakesNothing) {
    start(1);
    send_check(0);
    deliver_all();
    ASSERT_EQ(table_.owner(kContested), &*sessions_[0]);
    for (int i = 0; i < 100; i++) {
        now_ += Millis(100);
        if (i % 20 == 0) {
            send_check(0);  // it is there, and says so every two seconds
        }
        send_check(1);
        deliver_all();
        ASSERT_EQ(table_.owner(kContested), &*sessions_[0]);
        ASSERT_TRUE(sessions_[0]->agent().is_proven(kContested));
        ASSERT_FALSE(sessions_[1]->agent().is_proven(kContested));
    }
}

TEST_F(RtcPathTableTest, APortThatANatUsesAgainGoesToWhoIsThere) {
    start(2);
    send_check(0);
    deliver_all();
    resident_ = 1;
    send_check(1);
    deliver_all();
    EXPECT_EQ(table_.owner(kContested), &*sessions_[1]);
    EXPECT_FALSE(sessions_[0]->sends_media_to(kContested));
}

TEST_F(RtcPathTableTest, APathWhoseOwnerIsSilentGoesToTheNextCheck) {
    start(4);
    send_check(0);
    deliver_all();
    now_ += ice::kPathHeld - Millis(1);
    send_check(1);  // of a peer that answers no checks, and has a port that was another's
    deliver_all();
    ASSERT_EQ(table_.owner(kContested), &*sessions_[0]);
    now_ += Millis(60);
    send_check(1);
    deliver_all();
    EXPECT_EQ(table_.owner(kContested), &*sessions_[1]);
    EXPECT_FALSE(sessions_[0]->sends_media_to(kContested));
    send_check(0);  // it was there all the time, and proves it
    deliver_all();
    EXPECT_EQ(table_.owner(kContested), &*sessions_[0]);
    EXPECT_TRUE(sessions_[0]->agent().is_proven(kContested));
}

TEST_F(RtcPathTableTest, WhatItsOwnerLeavesGoesToTheNextCheck) {
    start(3);
    send_check(0);
    deliver_all();
    send_check(1);
    deliver_all();
    sessions_[0].emplace(table_, 3U, *random_, now_);  // the first one ended
    EXPECT_EQ(table_.owner(kContested), nullptr);
    resident_ = 1;
    now_ += Millis(100);
    send_check(1);
    deliver_all();
    EXPECT_EQ(table_.owner(kContested), &*sessions_[1]);
}

TEST_F(RtcPathTableTest, WhoIsThereIsNeverDeafForLongInAnyOrderOfDatagrams) {
    for (uint64_t seed = 1; seed <= 300; seed++) {
        SCOPED_TRACE(seed);
        start(seed);
        for (int turn = 0; turn < 40; turn++) {
            if (random_->chance(10)) {
                resident_ = 1 - resident_;
            }
            for (uint64_t datagrams = random_->next() % 12; datagrams > 0; datagrams--) {
                if (on_the_way_.empty() || random_->chance(50)) {
                    send_check(random_->next() % 2);
                } else if (random_->chance(20)) {
                    on_the_way_.pop_front();  // lost
                } else {
                    deliver_one();
                }
                now_ += Millis(random_->next() % 80);
                if (HasFatalFailure()) {
                    return;
                }
            }
            // What an earlier resident said may still arrive; then two checks are enough.
            deliver_all();
            for (int i = 0; i < 2; i++) {
                now_ += Millis(60);
                send_check(resident_);
                send_check(1 - resident_);
                deliver_all();
            }
            ASSERT_EQ(table_.owner(kContested), &*sessions_[resident_]);
            ASSERT_TRUE(sessions_[resident_]->agent().is_proven(kContested));
        }
    }
}

}  // namespace
}  // namespace weir::session
