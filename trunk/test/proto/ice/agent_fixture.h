// An agent, its peer's checks, and time, for tests.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "proto/ice/lite_agent.h"

#include "test/proto/ice/support.h"

namespace weir::ice {

using test::Check;
using test::SeededRandom;

inline const Path kWifi{NetAddress::from_v4({198, 51, 100, 7}, 50'000), 0};
inline const Path kMobile{NetAddress::from_v4({203, 0, 113, 9}, 40'000), 0};
inline const Path kTcp{NetAddress::from_v4({198, 51, 100, 7}, 51'000), 17};

inline Path path_number(uint16_t number) {
    return {kWifi.remote.with_port(number), 0};
}

class LiteAgentTest : public ::testing::Test {
  protected:
    LiteAgentTest() {
        credentials_ = Credentials::make(random_);
        restart_agent({});
    }

    void restart_agent(const AgentOptions& options) {
        agent_.emplace(now_, options, credentials_, test::peer_credentials(), random_);
        events_.clear();
    }

    Check check() const { return Check::with(credentials_); }

    Verdict receive(const Bytes& bytes, const Path& from) {
        std::array<uint8_t, kMaxResponseBytes> out{};
        Reply reply = agent_->handle_packet(now_, bytes, from, out);
        answer_.assign(out.begin(),
                       out.begin() + static_cast<std::ptrdiff_t>(reply.response_bytes));
        drain();
        return reply.verdict;
    }

    Verdict receive(const Check& check, const Path& from) { return receive(check.bytes(), from); }

    // The answer to the last request; must be there and sound.
    stun::MessageView answer() {
        stun::MessageView view;
        EXPECT_EQ(stun::MessageView::parse(answer_, view), stun::ParseStatus::kDone);
        EXPECT_TRUE(view.has_fingerprint);
        return view;
    }

    // Lets time pass, with the timer as the owner would run it.
    void pass(Millis duration) {
        MonoTime end = now_ + duration;
        while (std::optional<MonoTime> next = agent_->next_timeout()) {
            if (*next > end) {
                break;
            }
            EXPECT_GE(*next, now_) << "a timer in the past never ends";
            now_ = std::max(now_, *next);
            agent_->handle_timeout(now_);
            drain();
            if (++timeouts_ > 1000) {
                ADD_FAILURE() << "the timer spins";
                break;
            }
        }
        now_ = end;
    }

    // Events and our checks, which the peer answers from wherever it is, if it does.
    void drain() {
        std::array<uint8_t, kMaxCheckBytes> check;
        size_t bytes = 0;
        const Path* to = nullptr;
        do {
            while (std::optional<Event> event = agent_->poll_event()) {
                if (event->type == Event::Type::kPathProven) {
                    proven_.push_back(event->path);
                } else {
                    events_.push_back(*event);
                }
            }
            to = agent_->poll_check(now_, check, bytes);
            if (to != nullptr && answers_) {
                std::array<uint8_t, kMaxResponseBytes> out{};
                const Path from = *to;
                const Bytes answer = test::answer_to(ByteSpan(check).first(bytes), peer_, from);
                if (!answer.empty()) {
                    const Reply reply = agent_->handle_packet(now_, answer, from, out);
                    EXPECT_EQ(reply.verdict, Verdict::kAnswer);
                    EXPECT_EQ(reply.response_bytes, 0U);
                }
            }
        } while (to != nullptr);
    }

    // Types of the events since the last call.
    std::vector<Event::Type> events() {
        std::vector<Event::Type> types;
        for (const Event& event : events_) {
            types.push_back(event.type);
        }
        events_.clear();
        return types;
    }

    NetAddress selected() const {
        return agent_->selected() ? agent_->selected()->remote : NetAddress();
    }

    SeededRandom random_{1};
    MonoTime now_{std::chrono::hours(5)};
    Credentials credentials_;
    std::optional<LiteAgent> agent_;
    std::vector<Event> events_;
    std::vector<Path> proven_;  // that an event told, in order
    RemoteCredentials peer_ = test::peer_credentials();
    bool answers_ = true;  // the peer, to checks of ours
    Bytes answer_;
    int timeouts_ = 0;
};

}  // namespace weir::ice
