#include "proto/ice/lite_agent.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "proto/ice/candidate.h"
#include "proto/stun/message_writer.h"

// Invariants: a pair that is not `used` has no meaning; `selected_` names a used, not removed pair
// or none; a removed pair keeps its place until its kPathRemoved was polled.

namespace weir::ice {

namespace {

// How long a nominated path of lower priority has to wait behind the last nomination of a better
// one. Peers that nominate every path they check (aggressive nomination, RFC 5245 §8.1.1.2) do so
// within a round of checks, 50 ms apart; a peer that moves stops nominating the old path.
constexpr Millis kNominationHold{500};

// How long nothing is heard on the selected path before authentic media on another one counts as
// its nomination.
constexpr Millis kSelectedSilent{500};

// Generations are counted modulo 256; those that are compared lie close together.
bool is_newer(uint8_t generation, uint8_t than) {
    return generation != than && static_cast<uint8_t>(generation - than) < 128;
}

}  // namespace

// Which of two paths counts: one that is proven; one that is nominated; the newer generation; then
// the higher value of nomination where the peer numbers its nominations (renomination); then the
// one nominated last, but a lower priority waits for kNominationHold (RFC 8445 §8.1.2 wants the
// highest priority of several).
struct LiteAgent::PathOrder {
    MonoTime now;

    // The time from which `a` comes before `b`; none: never, as things are.
    static std::optional<MonoTime> wins_from(const Pair& a, const Pair& b) {
        if (a.proof.proven() != b.proof.proven()) {
            return a.proof.proven() ? std::optional(MonoTime::min()) : std::nullopt;
        }
        if (a.nominated != b.nominated) {
            return a.nominated ? std::optional(MonoTime::min()) : std::nullopt;
        }
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

LiteAgent::LiteAgent(MonoTime now,
                     const AgentOptions& options,
                     const Credentials& local,
                     RemoteCredentials remote,
                     RandomSource& random)
    : random_(random),
      options_(options),
      waiting_since_(now),
      last_check_(now),
      current_(local),
      remote_(std::move(remote)) {}

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
    if (message.message_class == stun::MessageClass::kSuccess) {
        return take_answer(now, message, from);
    }
    // Indications are keep-alives that need nothing.
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

const RemoteCredentials& LiteAgent::remote_of(uint8_t generation) const {
    return generation == generation_ ? remote_ : previous_remote_;
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
    Pair& pair = pair_for(from, generation);
    if (pair.proof.proven() || !is_settled()) {
        last_check_ = now;  // consent is that of a peer that is there
    }
    pair.last_check = now;
    pair.last_heard = now;
    pair.proof.note_received(request.size());
    pair.proof.want_check(now);
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
    return {Verdict::kAccepted, pair.proof.take(writer.size()) ? writer.size() : 0};
}

// Only whoever got our check knows its transaction number. That the answer is signed shows that it
// is no other STUN server which answers there.
Reply LiteAgent::take_answer(MonoTime now, const stun::MessageView& message, const Path& from) {
    Pair* pair = find(from);
    if (pair == nullptr || message.method != stun::kBinding ||
        !pair->proof.is_answer(message.transaction) ||
        !message.check_integrity(remote_of(pair->generation).key())) {
        arrivals_.ignored++;
        return {Verdict::kIgnored, 0};
    }
    arrivals_.answers++;
    prove(now, *pair);
    return {Verdict::kAnswer, 0};
}

LiteAgent::Pair* LiteAgent::find(const Path& path) {
    for (Pair& pair : pairs_) {
        if (pair.used && !pair.removed && pair.path == path) {
            return &pair;
        }
    }
    return nullptr;
}

const LiteAgent::Pair* LiteAgent::find(const Path& path) const {
    return const_cast<LiteAgent*>(this)->find(path);
}

// ---- proof ----

void LiteAgent::prove(MonoTime now, Pair& pair) {
    if (pair.proof.proven()) {
        return;
    }
    pair.proof.prove();
    was_proven_ = true;
    last_check_ = now;
    if (state_ == State::kConnected) {
        select_nominated(now);
    }
}

void LiteAgent::prove(MonoTime now, const Path& path) {
    if (Pair* pair = find(path)) {
        prove(now, *pair);
    }
}

void LiteAgent::distrust(MonoTime now, const Path& path) {
    Pair* pair = find(path);
    if (pair == nullptr || !pair->proof.proven()) {
        return;
    }
    pair->proof.distrust(options_.check_tag, random_);
    pair->proof_told = false;
    if (state_ == State::kConnected) {
        select_nominated(now);
    }
}

bool LiteAgent::is_proven(const Path& path) const {
    const Pair* pair = find(path);
    return pair != nullptr && pair->proof.proven();
}

bool LiteAgent::holds(MonoTime now, const Path& path) const {
    const Pair* pair = find(path);
    return pair != nullptr && pair->proof.proven() && now - pair->last_heard < kPathHeld;
}

bool LiteAgent::take(const Path& path, size_t bytes) {
    Pair* pair = find(path);
    return pair != nullptr && pair->proof.take(bytes);
}

void LiteAgent::note_received(MonoTime now, const Path& path, size_t bytes, bool authentic) {
    Pair* pair = find(path);
    if (pair == nullptr) {
        return;
    }
    pair->proof.note_received(bytes);
    if (!authentic) {
        return;
    }
    const MonoTime heard_before = std::exchange(pair->last_heard, now);
    pair->proof.want_check(now);
    if (selected_ == kNoPair || state_ != State::kConnected || !pair->proof.proven()) {
        return;
    }
    const Pair& selected = pairs_[static_cast<size_t>(selected_)];
    // Once could be a packet that came late.
    const bool heard_again = heard_before > selected.last_heard;
    if (&selected != pair && heard_again && now - selected.last_heard >= kSelectedSilent) {
        nominate(now, *pair, std::max(pair->nomination, selected.nomination));
    }
}

const Path* LiteAgent::media_path() const {
    if (selected_ == kNoPair || !pairs_[static_cast<size_t>(selected_)].proof.proven()) {
        return nullptr;
    }
    return &pairs_[static_cast<size_t>(selected_)].path;
}

const Path* LiteAgent::poll_check(MonoTime now, std::span<uint8_t> out, size_t& bytes) {
    for (Pair& pair : pairs_) {
        if (ended() || !pair.used || pair.removed || pair.proof.check_due() > now) {
            continue;
        }
        bytes = write_check(pair, out);
        if (pair.proof.take_check(now, bytes) && bytes > 0) {
            return &pair.path;
        }
    }
    return nullptr;
}

// A check of the controlled side, which nominates nothing (RFC 8445 §7.2.2).
size_t LiteAgent::write_check(const Pair& pair, std::span<uint8_t> out) const {
    const RemoteCredentials& remote = remote_of(pair.generation);
    stun::MessageWriter writer(out, stun::MessageClass::kRequest, stun::kBinding,
                               pair.proof.transaction());
    constexpr uint64_t kTieBreaker = 0;  // the peer controls, whatever it says (§7.3.1.1)
    const uint32_t priority =
        candidate_priority(CandidateType::kPeerReflexive, Transport::kUdp, TcpType::kNone, 65'535);
    writer
        .username(fmt::format("{}:{}", remote.ufrag, credentials_of(pair.generation).ufrag_text()))
        .priority(priority)
        .ice_controlled(kTieBreaker)
        .integrity(remote.key())
        .fingerprint();
    return writer.size();
}

// ---- paths ----

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
    // What the owner was told of and does not have to forget: events are in order.
    bool revived = found && place.announced;
    if (place.used && place.announced && !found) {
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
    place.announced = revived;
    place.revived = revived;
    place.proof = PathProof(options_.check_tag, random_);
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
        if (best == kNoPair || comes_first(pair, pairs_[static_cast<size_t>(best)])) {
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
    const int8_t best = best_valid();
    if (selected_ == kNoPair ||
        (best != kNoPair && pairs_[static_cast<size_t>(best)].proof.proven() &&
         !pairs_[static_cast<size_t>(selected_)].proof.proven())) {
        select(best);
    }
}

// A proven one before others, then by priority; kNoPair without any.
int8_t LiteAgent::best_valid() const {
    int8_t best = kNoPair;
    for (int8_t i = 0; i < static_cast<int8_t>(kMaxPaths); i++) {
        const Pair& pair = pairs_[static_cast<size_t>(i)];
        if (!pair.used || pair.removed) {
            continue;
        }
        const auto rank = [](const Pair& of) { return std::pair(of.proof.proven(), of.priority); };
        if (best == kNoPair || rank(pair) > rank(pairs_[static_cast<size_t>(best)])) {
            best = i;
        }
    }
    return best;
}

void LiteAgent::select(int8_t index) {
    if (index == selected_ || index == kNoPair) {
        return;
    }
    selected_ = index;
    selection_told_ = false;
    if (state_ == State::kWaiting) {
        state_ = State::kConnected;
        waiting_since_ = last_check_;
    }
}

const Path* LiteAgent::selected() const {
    const int8_t index = selected_ != kNoPair ? selected_ : best_valid();
    return index == kNoPair ? nullptr : &pairs_[static_cast<size_t>(index)].path;
}

size_t LiteAgent::path_count() const {
    return static_cast<size_t>(std::count_if(
        pairs_.begin(), pairs_.end(), [](const Pair& pair) { return pair.used && !pair.removed; }));
}

size_t LiteAgent::heap_bytes() const {
    size_t bytes = 0;
    for (const std::string* text :
         {&remote_.ufrag, &remote_.password, &previous_remote_.ufrag, &previous_remote_.password}) {
        bytes += text->capacity() > std::string().capacity() ? text->capacity() + 1 : 0;
    }
    return bytes;
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
        end(is_settled() ? State::kExpired : State::kFailed);
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
    return is_settled() ? last_check_ + options_.consent_timeout
                        : waiting_since_ + options_.connect_timeout;
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
        next = std::min({next, pair.last_check + options_.consent_timeout, pair.proof.check_due()});
        if (pair.nominated && selected_ != kNoPair) {
            std::optional<MonoTime> wins =
                PathOrder::wins_from(pair, pairs_[static_cast<size_t>(selected_)]);
            next = wins ? std::min(next, *wins) : next;
        }
    }
    return next;
}

void LiteAgent::restart(const Credentials& local, RemoteCredentials remote) {
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
        previous_remote_ = std::move(remote_);
        previous_valid_ = true;
        generation_++;
    }
    current_ = local;
    remote_ = std::move(remote);
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
        if (pair.used && pair.revived) {
            pair.revived = false;
            pair.announced = false;
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
    for (Pair& pair : pairs_) {
        if (pair.used && !pair.removed && pair.proof.proven() && !pair.proof_told) {
            pair.proof_told = true;
            return Event{Event::Type::kPathProven, pair.path, {}};
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
    if (arrived.nominations > 0 && !agent.was_proven()) {
        return fmt::format(
            "{} valid checks, {} with a nomination, last packet from {}, but the peer answered no "
            "check of ours: do our packets reach it (firewall on the way back)?",
            arrived.accepted, arrived.nominations, from);
    }
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
