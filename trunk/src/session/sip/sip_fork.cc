#include "session/sip/sip_fork.h"

#include <algorithm>
#include <utility>

#include "session/sip/sip_server.h"

namespace weir::session {
namespace {

constexpr int kEverywhere = 600;  // from here on the answer speaks for all phones (RFC 3261 §16.7)

// Which failure of several tells the caller most: a word of the person, then of a phone, then that
// there is none.
int worth(int status) {
    switch (status) {
        case 0: return -1;
        case 486: return 4;
        case 408:
        case 480:
        case 487: return 2;
        default: return status >= kEverywhere ? 5 : status < 500 ? 3 : 1;
    }
}

}  // namespace

bool SipFork::begin(const std::vector<sip::CallTarget>& targets) {
    for (const sip::CallTarget& target : targets) {
        if (branches_.size() >= kMaxBranches) {
            break;
        }
        if (const sip::CallId id = server_.begin_call(owner_, target); id != 0) {
            branches_.push_back({id, target.flow, {}, false});
        }
    }
    const bool begun = !branches_.empty();
    server_.send_all();
    return begun;
}

SipFork::Branch* SipFork::find(sip::CallId id) {
    const auto found =
        std::ranges::find_if(branches_, [id](const Branch& each) { return each.id == id; });
    return found == branches_.end() ? nullptr : &*found;
}

SipFork::Outcome SipFork::on_event(const sip::CallEvent& event) {
    using Kind = sip::CallEvent::Kind;
    if (winner_ != 0) {
        return event.call == winner_ ? Outcome::kOfWinner : Outcome::kNothing;
    }
    Branch* const branch = find(event.call);
    if (branch == nullptr) {
        return Outcome::kNothing;
    }
    switch (event.kind) {
        case Kind::kProgress:
            if (!event.sdp.empty()) {
                branch->sdp = event.sdp;
            }
            return Outcome::kRings;
        case Kind::kAnswered:
            winner_ = event.call;
            flow_ = branch->flow;
            sdp_ = event.sdp.empty() ? branch->sdp : event.sdp;
            end_others(winner_);
            return Outcome::kAnswered;
        case Kind::kFailed:
        case Kind::kEnded:
            branch->over = true;
            note_failure(event.status, event.reason);
            if (event.status >= kEverywhere) {
                end_others(0);
            }
            return std::ranges::all_of(branches_, [](const Branch& each) { return each.over; })
                       ? Outcome::kFailed
                       : Outcome::kNothing;
        default: return Outcome::kNothing;
    }
}

void SipFork::note_failure(int status, const std::string& reason) {
    if (worth(status) > worth(status_)) {
        status_ = status;
        reason_ = reason;
    }
}

void SipFork::end_others(sip::CallId but) {
    for (size_t i = 0; i < branches_.size(); i++) {
        Branch& branch = branches_[i];
        if (branch.id != but && !branch.over) {
            server_.with_agent([id = branch.id](sip::UserAgent& agent) {
                return agent.hang_up(MonoClock::now(), id);
            });
        }
    }
}

void SipFork::give_up() {
    end_others(0);
}

}  // namespace weir::session
