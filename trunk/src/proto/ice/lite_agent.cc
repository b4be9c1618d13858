#include "proto/ice/lite_agent.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "proto/stun/message_writer.h"

// Invariants: a pair that is not `used` has no meaning; `selected_` names a used, not removed pair
// or none; a removed pair keeps its place until its kPathRemoved was polled.

namespace weir::ice {

namespace {

// How long a nominated path of lower priority has to wait behind the last nomination of a better
// one. Peers that nominate every path they check (aggressive nomination, RFC 5245 §8.1.1.2) do so
// within a round of checks, 50 ms apart; a peer that moves stops nominating the old path.
constexpr Millis kNominationHold{500};

// Generations are counted modulo 256; those that are compared lie close together.
bool is_newer(uint8_t generation, uint8_t than) {
    return generation != than && static_cast<uint8_t>(generation - than) < 128;
}

}  // namespace

// Which of two nominated paths counts: the newer generation; then the higher value of nomination
// where the peer numbers its nominations (renomination); then the one nominated last, but a lower
// priority waits for kNominationHold (RFC 8445 §8.1.2 wants the highest priority of several).
struct LiteAgent::PathOrder {
    MonoTime now;

    // The time from which `a` comes before `b`; none: never, as things are.
    static std::optional<MonoTime> wins_from(const Pair& a, const Pair& b) {
        if (a.generation != b.generation) {
            return is_newer(a.generation, b.generation) ? std::optional(MonoTime::min())
                                                        : std::nullopt;
        }
        if (a.nomination != b.nomination) {
            return a.nomination > b.nomination ? std::optional(MonoTime::min()) : std::nullopt;
        }
        if (a.last_nominated < b.last_nominated) {
            return std::nullopt;
        }
        if (a.priority > b.priority) {
            return MonoTime::min();
        }
        if (a.last_nominated == b.last_nominated) {
            return std::nullopt;
        }
        return a.priority == b.priority ? MonoTime::min() : b.last_nominated + kNominationHold;
    }

    bool operator()(const Pair& a, const Pair& b) const {
        std::optional<MonoTime> from = wins_from(a, b);
        return from && *from <= now;
    }
};

LiteAgent::LiteAgent(MonoTime now, const AgentOptions& options, const Credentials& local)
    : options_(options), started_(now), last_check_(now), current_(local) {}

Reply LiteAgent::handle_packet(MonoTime now,
                               ByteSpan datagram,
                               const Path& from,
                               std::span<uint8_t> response) {
    stun::MessageView message;
    last_arrival_ = from;
    switch (stun::MessageView::parse(datagram, message)) {
        case stun::ParseStatus::kDone: return handle_message(now, message, from, response);
        case stun::ParseStatus::kBadFingerprint:
            arrivals_.malformed++;
            return {Verdict::kBadFingerprint, 0};
        default: arrivals_.malformed++; return {Verdict::kNotStun, 0};
    }
}

Reply LiteAgent::handle_message(MonoTime now,
                                const stun::MessageView& message,
                                const Path& from,
                                std::span<uint8_t> response) {
    if (ended()) {
        return {Verdict::kClosed, 0};
    }
    // Indications are keep-alives that need nothing; answers are to nothing that we sent.
    if (message.message_class != stun::MessageClass::kRequest || message.method != stun::kBinding) {
        arrivals_.ignored++;
        return {Verdict::kIgnored, 0};
    }
    last_arrival_ = from;
    // The order is that of RFC 8489 §9.1.3, then §6.3.1 (unknown attributes), then RFC 8445 §7.3.
    if (!message.username || !message.has_integrity()) {
        arrivals_.unauthenticated++;
        return reject(Verdict::kUnauthenticated, stun::kBadRequest, message, response);
    }
    std::optional<uint8_t> generation = generation_of(split_username(*message.username).local);
    if (!generation) {
        arrivals_.unknown_user++;
        return reject(Verdict::kUnknownUser, stun::kUnauthenticated, message, response);
    }
    ByteSpan key = credentials_of(*generation).key();
    if (!message.check_integrity(key)) {
        arrivals_.wrong_password++;
        return reject(Verdict::kWrongPassword, stun::kUnauthenticated, message, response);
    }
    rejections_left_ = kMaxRejections;
    if (message.unknown_count > 0) {
        arrivals_.unknown_attribute++;
        return refuse(Verdict::kUnknownAttribute, stun::kUnknownAttribute, message, key, response);
    }
    // RFC 8445 §7.3.1.1. Whatever the tie-breakers are: a lite agent cannot control a full one.
    if (message.ice_controlled) {
        arrivals_.role_conflict++;
        return refuse(Verdict::kRoleConflict, stun::kRoleConflict, message, key, response);
    }
    return accept(now, *generation, message, from, response);
}

std::optional<uint8_t> LiteAgent::generation_of(std::string_view local_ufrag) const {
    if (local_ufrag == current_.ufrag_text()) {
        return generation_;
    }
    if (previous_valid_ && local_ufrag == previous_.ufrag_text()) {
        return static_cast<uint8_t>(generation_ - 1);
    }
    return std::nullopt;
}

const Credentials& LiteAgent::credentials_of(uint8_t generation) const {
    return generation == generation_ ? current_ : previous_;
}

// Not authentic: no integrity in the answer, since there is no common key (RFC 8489 §9.1.3). It is
// shorter than any request that has a user name, so it amplifies nothing.
Reply LiteAgent::reject(Verdict verdict,
                        uint16_t code,
                        const stun::MessageView& request,
                        std::span<uint8_t> response) {
    if (rejections_left_ == 0) {
        return {verdict, 0};
    }
    rejections_left_--;
    stun::MessageWriter writer(response, stun::MessageClass::kError, request.method,
                               request.transaction);
    writer.error_code(code, "").fingerprint();
    return {verdict, writer.size()};
}

// Authentic, but it cannot be done.
Reply LiteAgent::refuse(Verdict verdict,
                        uint16_t code,
                        const stun::MessageView& request,
                        ByteSpan key,
                        std::span<uint8_t> response) {
    stun::MessageWriter writer(response, stun::MessageClass::kError, request.method,
                               request.transaction);
    writer.error_code(code, "");
    if (code == stun::kUnknownAttribute) {
        writer.unknown_attributes(request.unknown_attributes());
    }
    request.has_integrity_sha256() ? writer.integrity_sha256(key) : writer.integrity(key);
    writer.fingerprint();
    return {verdict, writer.size()};
}

Reply LiteAgent::accept(MonoTime now,
                        uint8_t generation,
                        const stun::MessageView& request,
                        const Path& from,
                        std::span<uint8_t> response) {
    arrivals_.accepted++;
    last_check_ = now;
    Pair& pair = pair_for(from, generation);
    pair.last_check = now;
    pair.priority = request.priority.value_or(0);
    note_generation(now, pair, generation);
    // libwebrtc's renomination sends NOMINATION in place of USE-CANDIDATE.
    if (request.use_candidate || request.nomination) {
        arrivals_.nominations++;
        if (pair.generation == generation) {
            nominate(now, pair, request.nomination.value_or(0));
        }
    }
    ByteSpan key = credentials_of(generation).key();
    stun::MessageWriter writer(response, stun::MessageClass::kSuccess, request.method,
                               request.transaction);
    writer.xor_mapped_address(from.remote);
    request.has_integrity_sha256() ? writer.integrity_sha256(key) : writer.integrity(key);
    writer.fingerprint();
    return {Verdict::kAccepted, writer.size()};
}

void LiteAgent::note_generation(MonoTime now, Pair& pair, uint8_t generation) {
    if (is_newer(generation, pair.generation)) {
        // A nomination belongs to its generation, but media stays where it is until the new one has
        // nominated: then without delay, so the old nomination counts as made long ago.
        pair.generation = generation;
        pair.nomination = 0;
        pair.last_nominated = MonoTime::min();
        pair.nominated = pair.nominated && &pair - pairs_.data() == selected_;
    }
    if (generation == generation_ && !current_used_) {
        current_used_ = true;
        previous_until_ = now + options_.previous_generation;
    }
}

LiteAgent::Pair& LiteAgent::pair_for(const Path& path, uint8_t generation) {
    Pair* found = nullptr;
    Pair* oldest = nullptr;
    Pair* free = nullptr;
    for (Pair& pair : pairs_) {
        if (!pair.used) {
            free = free ? free : &pair;
        } else if (pair.path == path) {
            found = &pair;
        } else if (&pair - pairs_.data() != selected_ &&
                   (!oldest || pair.last_check < oldest->last_check)) {
            oldest = &pair;
        }
    }
    if (found && !found->removed) {
        return *found;
    }
    Pair& place = found ? *found : free ? *free : *oldest;
    bool announced = place.used && place.announced;
    if (announced && !found) {
        // The owner drains the events after each call, so the place for one is enough.
        WEIR_DCHECK(!has_evicted_);
        evicted_ = place.path;
        has_evicted_ = true;
    }
    arrivals_.evicted_paths += place.used && !found && !place.removed ? 1 : 0;
    place = Pair();
    place.path = path;
    place.generation = generation;
    place.used = true;
    place.announced = found && announced;
    return place;
}

void LiteAgent::remove(Pair& pair) {
    pair.removed = pair.announced;
    pair.used = pair.announced;
    pair.nominated = false;
    if (&pair - pairs_.data() == selected_) {
        selected_ = kNoPair;
    }
}

void LiteAgent::nominate(MonoTime now, Pair& pair, uint32_t nomination) {
    // An older value comes from a check that was overtaken.
    if (pair.nominated && nomination < pair.nomination) {
        return;
    }
    pair.nominated = true;
    pair.nomination = nomination;
    pair.last_nominated = now;
    select_nominated(now);
}

void LiteAgent::select_nominated(MonoTime now) {
    PathOrder comes_first{now};
    int8_t best = selected_;
    for (int8_t i = 0; i < static_cast<int8_t>(kMaxPaths); i++) {
        const Pair& pair = pairs_[static_cast<size_t>(i)];
        if (!pair.used || pair.removed || !pair.nominated || i == best) {
            continue;
        }
        const Pair* other = best == kNoPair ? nullptr : &pairs_[static_cast<size_t>(best)];
        if (!other || !other->nominated || comes_first(pair, *other)) {
            best = i;
        }
    }
    select(best);
}

// The selected path is gone. Another one that was nominated, or else the best valid one: the peer
// consents on it, and nothing better is known until it nominates.
void LiteAgent::select_after_loss() {
    if (state_ != State::kConnected || selected_ != kNoPair) {
        return;
    }
    select_nominated(MonoTime::max());
    if (selected_ != kNoPair) {
        return;
    }
    const Path* path = selected();
    for (size_t i = 0; path && i < kMaxPaths; i++) {
        if (&pairs_[i].path == path) {
            select(static_cast<int8_t>(i));
        }
    }
}

void LiteAgent::select(int8_t index) {
    if (index == selected_ || index == kNoPair) {
        return;
    }
    selected_ = index;
    selection_told_ = false;
    state_ = State::kConnected;
}

const Path* LiteAgent::selected() const {
    if (selected_ != kNoPair) {
        return &pairs_[static_cast<size_t>(selected_)].path;
    }
    const Pair* best = nullptr;
    for (const Pair& pair : pairs_) {
        if (pair.used && !pair.removed && (!best || pair.priority > best->priority)) {
            best = &pair;
        }
    }
    return best ? &best->path : nullptr;
}

size_t LiteAgent::path_count() const {
    return static_cast<size_t>(std::count_if(
        pairs_.begin(), pairs_.end(), [](const Pair& pair) { return pair.used && !pair.removed; }));
}

void LiteAgent::handle_timeout(MonoTime now) {
    if (ended()) {
        return;
    }
    if (previous_valid_ && now >= previous_until_) {
        previous_valid_ = false;
        end_generation(previous_);
    }
    if (now >= deadline()) {
        end(state_ == State::kWaiting ? State::kFailed : State::kExpired);
        return;
    }
    for (Pair& pair : pairs_) {
        if (pair.used && !pair.removed && now - pair.last_check >= options_.consent_timeout) {
            remove(pair);
        }
    }
    select_after_loss();
    if (state_ == State::kConnected) {
        select_nominated(now);  // one that had to wait for kNominationHold
    }
}

// When the session ends if nothing happens.
MonoTime LiteAgent::deadline() const {
    return state_ == State::kWaiting ? started_ + options_.connect_timeout
                                     : last_check_ + options_.consent_timeout;
}

std::optional<MonoTime> LiteAgent::next_timeout() const {
    if (ended()) {
        return std::nullopt;
    }
    MonoTime next = deadline();
    if (previous_valid_) {
        next = std::min(next, previous_until_);
    }
    for (const Pair& pair : pairs_) {
        if (!pair.used || pair.removed) {
            continue;
        }
        next = std::min(next, pair.last_check + options_.consent_timeout);
        if (pair.nominated && selected_ != kNoPair) {
            std::optional<MonoTime> wins =
                PathOrder::wins_from(pair, pairs_[static_cast<size_t>(selected_)]);
            next = wins ? std::min(next, *wins) : next;
        }
    }
    return next;
}

void LiteAgent::restart(const Credentials& local) {
    if (ended()) {
        return;
    }
    if (previous_valid_ && !current_used_) {
        // The peer never used the current generation (it did not hear of it): what it uses is the
        // one before, which stays.
        end_generation(current_);
    } else {
        if (previous_valid_) {
            end_generation(previous_);
        }
        previous_ = current_;
        previous_valid_ = true;
        generation_++;
    }
    current_ = local;
    current_used_ = false;
    previous_until_ = MonoTime::max();  // until the new one is used, or consent ends
}

void LiteAgent::end_generation(const Credentials& credentials) {
    WEIR_DCHECK(!has_ended_ufrag_);  // the owner drains the events after each call
    ended_ufrag_ = credentials.ufrag;
    has_ended_ufrag_ = true;
}

void LiteAgent::forget_link(uint32_t link) {
    for (Pair& pair : pairs_) {
        if (pair.used && !pair.removed && pair.path.link == link) {
            remove(pair);
        }
    }
    select_after_loss();
}

void LiteAgent::forget_path(const Path& path) {
    for (Pair& pair : pairs_) {
        if (pair.used && !pair.removed && pair.path == path) {
            remove(pair);
        }
    }
    select_after_loss();
}

void LiteAgent::end(State state) {
    for (Pair& pair : pairs_) {
        if (pair.used && !pair.removed) {
            remove(pair);
        }
    }
    state_ = state;
    end_told_ = false;
}

std::optional<Event> LiteAgent::poll_path_event() {
    if (has_evicted_) {
        has_evicted_ = false;
        return Event{Event::Type::kPathRemoved, evicted_, {}};
    }
    for (Pair& pair : pairs_) {
        if (pair.used && pair.removed) {
            pair.used = false;
            return Event{Event::Type::kPathRemoved, pair.path, {}};
        }
    }
    for (Pair& pair : pairs_) {
        if (pair.used && !pair.announced) {
            pair.announced = true;
            return Event{Event::Type::kPathAdded, pair.path, {}};
        }
    }
    return std::nullopt;
}

std::optional<Event> LiteAgent::poll_event() {
    if (std::optional<Event> event = poll_path_event()) {
        return event;
    }
    if (!selection_told_) {
        selection_told_ = true;
        if (selected_ != kNoPair) {
            Event::Type type =
                connected_told_ ? Event::Type::kPathSelected : Event::Type::kConnected;
            connected_told_ = true;
            return Event{type, pairs_[static_cast<size_t>(selected_)].path, {}};
        }
    }
    if (has_ended_ufrag_) {
        has_ended_ufrag_ = false;
        return Event{Event::Type::kGenerationEnded, {}, ended_ufrag_};
    }
    if (!end_told_) {
        end_told_ = true;
        return Event{
            state_ == State::kFailed ? Event::Type::kFailed : Event::Type::kExpired, {}, {}};
    }
    return std::nullopt;
}

std::string describe_arrivals(const LiteAgent& agent) {
    const ArrivalCounters& arrived = agent.arrivals();
    if (agent.last_arrival().remote.empty()) {
        return "no check arrived: is the port open (firewall, container, cloud), and do the "
               "candidates name an address that the peer can reach?";
    }
    std::string from = agent.last_arrival().remote.to_string();
    if (arrived.nominations > 0) {
        return fmt::format("{} valid checks, {} with a nomination, last packet from {}",
                           arrived.accepted, arrived.nominations, from);
    }
    if (arrived.accepted > 0) {
        return fmt::format(
            "{} valid checks, none with a nomination, last packet from {}: do the answers reach "
            "the peer (firewall on the way back), and do they come from the candidate's address?",
            arrived.accepted, from);
    }
    return fmt::format(
        "no valid check arrived, last packet from {}: {} with an unknown user, {} with a wrong "
        "password, {} without credentials, {} with a role conflict, {} with unknown attributes, "
        "{} malformed, {} others: does the peer use the answer of this session?",
        from, arrived.unknown_user, arrived.wrong_password, arrived.unauthenticated,
        arrived.role_conflict, arrived.unknown_attribute, arrived.malformed, arrived.ignored);
}

}  // namespace weir::ice
