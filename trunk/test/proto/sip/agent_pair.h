// Two user agents in one memory, with a way between them that may lose messages; and the clock.
// Callers have proven their addresses, unless `proves` is false.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "proto/sip/user_agent.h"

#include "test/support/counting_random.h"

namespace weir::sip {

class AgentPair {
  public:
    explicit AgentPair(UserAgentOptions a = {}, UserAgentOptions b = {})
        : alice(std::move(a), random), bob(std::move(b), random) {}

    // Called with each message before it arrives: false loses it.
    std::function<bool(std::string&)> way = [](std::string&) { return true; };

    bool proves = true;

    // Carries messages until there are none, and collects events.
    void settle() {
        for (;;) {
            bool moved = carry(alice, bob, flow_to_alice());
            moved = carry(bob, alice, flow_to_bob()) || moved;
            collect(alice, of_alice);
            collect(bob, of_bob);
            if (!moved) {
                return;
            }
        }
    }

    void pass(Millis length) {
        const MonoTime end = now + length;
        settle();
        for (;;) {
            const std::optional<MonoTime> a = alice.next_timeout();
            const std::optional<MonoTime> b = bob.next_timeout();
            const MonoTime next = std::min(a.value_or(end), b.value_or(end));
            if (next >= end) {
                break;
            }
            now = std::max(now, next);
            alice.handle_timeout(now);
            bob.handle_timeout(now);
            settle();
        }
        now = end;
        alice.handle_timeout(now);
        bob.handle_timeout(now);
        settle();
    }

    CallTarget target(std::string sdp = "offer") const {
        CallTarget out;
        out.flow = flow_to_bob();
        out.uri = "sip:bob@203.0.113.2";
        out.from = "sip:alice@203.0.113.1";
        out.contact_user = "alice";
        out.sdp = std::move(sdp);
        return out;
    }

    // The next event; one of kind kRequest with call 0 and status -1 where there is none.
    static CallEvent take(std::deque<CallEvent>& events) {
        CallEvent out;
        out.status = -1;
        if (!events.empty()) {
            out = std::move(events.front());
            events.pop_front();
        }
        return out;
    }

    CallEvent at_alice() { return take(of_alice); }

    CallEvent at_bob() { return take(of_bob); }

    // An answered call: its ids at alice, who calls, and at bob.
    std::pair<CallId, CallId> establish(std::string offer = "offer",
                                        std::string answer = "answer") {
        const CallId a = alice.call(now, target(std::move(offer)));
        settle();
        const CallId b = at_bob().call;
        bob.accept(now, b, std::move(answer));
        settle();
        of_alice.clear();
        of_bob.clear();
        return {a, b};
    }

    // What went over the way, as first lines.
    size_t count(std::string_view start) const {
        return static_cast<size_t>(std::ranges::count_if(
            carried, [&](const std::string& each) { return each.starts_with(start); }));
    }

    Flow flow_to_bob() const {
        return {transport, 1, *NetAddress::parse("203.0.113.2:5060"),
                *NetAddress::parse("203.0.113.1:5060")};
    }

    Flow flow_to_alice() const {
        return {transport, 1, *NetAddress::parse("203.0.113.1:5060"),
                *NetAddress::parse("203.0.113.2:5060")};
    }

    test::CountingRandom random;
    Transport transport = Transport::kUdp;
    MonoTime now{Seconds(1000)};
    UserAgent alice;
    UserAgent bob;
    std::deque<CallEvent> of_alice;
    std::deque<CallEvent> of_bob;
    std::vector<std::string> carried;

  private:
    bool carry(UserAgent& from, UserAgent& to, const Flow& arrival) {
        bool moved = false;
        while (std::optional<Transmit> each = from.poll_transmit()) {
            moved = true;
            if (way(each->bytes)) {
                carried.push_back(each->bytes);
                to.on_parsed(now, parse_datagram(as_bytes(each->bytes)), arrival);
            }
        }
        return moved;
    }

    void collect(UserAgent& agent, std::deque<CallEvent>& out) const {
        while (std::optional<CallEvent> each = agent.poll_event()) {
            if (proves && each->kind == CallEvent::Kind::kInvited) {
                agent.prove(each->call);
            }
            out.push_back(std::move(*each));
        }
    }
};

}  // namespace weir::sip
