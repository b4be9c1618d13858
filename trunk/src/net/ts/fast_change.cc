// Invariants: due_ is in the future in every state between start() and the end, so that each of
// them ends by itself; the server has been told to stop before kOver, unless it never agreed.
#include "net/ts/fast_change.h"

#include <algorithm>
#include <utility>

#include "proto/rtp/header.h"

namespace weir::net {
namespace {

bool is_at_or_behind(uint16_t sequence, uint16_t other) {
    return static_cast<uint16_t>(sequence - other) < 0x8000;
}

}  // namespace

FastChange::FastChange(FastChangeTarget target,
                       const NetAddress& group,
                       const NetAddress& local,
                       FastChangeOutput& output)
    : target_(std::move(target)), group_(group), local_(local), output_(output) {}

bool FastChange::is_allowed(const NetAddress& server) const {
    return server.is_v4() && server.port() != 0 && !server.is_any() && target_.allowed &&
           target_.allowed(server);
}

void FastChange::start(MonoTime now) {
    if (!group_.is_v4() || !is_allowed(target_.server)) {
        end("the server is not allowed");
        return;
    }
    ask(now);
}

void FastChange::ask(MonoTime now) {
    state_ = State::kAsked;
    asked_ = now;
    requests_ = 1;
    due_ = now + kRequestPeriod;
    output_.send(target_.server,
                 fcc::write_request(target_.kind, {.group = group_, .local = local_}), false);
}

// ---- what comes ----

void FastChange::feed(MonoTime now, const NetAddress& peer, ByteSpan datagram) {
    if (state_ == State::kNew || is_over() || !peer.with_port(0).same_ip(target_.server)) {
        return;
    }
    if (!fcc::is_message(datagram)) {
        take_media(now, datagram);
    } else if (const auto message = fcc::parse_message(target_.kind, datagram)) {
        take_message(now, *message);
    }
}

void FastChange::take_message(MonoTime now, const fcc::Message& message) {
    if (message.answer == fcc::Answer::kSync) {
        if (state_ == State::kAgreed || state_ == State::kUnicast) {
            join(now);
        }
        return;
    }
    const bool media_were_first =
        state_ == State::kUnicast && !answered_ && message.answer == fcc::Answer::kBurst;
    if (state_ != State::kAsked && !media_were_first) {
        return;  // an answer to another request of the same
    }
    answered_ = true;
    switch (message.answer) {
        case fcc::Answer::kBurst: begin_unicast(now, message); break;
        case fcc::Answer::kRedirect: redirect(now, message); break;
        case fcc::Answer::kJoin: end("the server says to join"); break;
        default: end("the server refuses"); break;
    }
}

void FastChange::redirect(MonoTime now, const fcc::Message& message) {
    NetAddress to = message.server.empty() ? target_.server : message.server;
    to = to.with_port(message.signal_port != 0 ? message.signal_port : target_.server.port());
    if (to == target_.server) {
        return;  // answers to requests that were repeated
    }
    if (++redirects_ > kMaxRedirects) {
        end("too many redirects");
    } else if (!is_allowed(to)) {
        end("a redirect to a server that is not allowed");
    } else {
        target_.server = to;
        answered_ = false;
        ask(now);
    }
}

void FastChange::begin_unicast(MonoTime now, const fcc::Message& message) {
    const NetAddress before = target_.server;
    NetAddress media = before;
    if (!message.server.empty()) {
        media = message.server.with_port(before.port());
        if (!is_allowed(media)) {
            end("media of a server that is not allowed");
            return;
        }
        target_.server = media;
    }
    if (message.signal_port != 0) {
        target_.server = target_.server.with_port(message.signal_port);
    }
    if (state_ == State::kAsked) {
        state_ = State::kAgreed;
        due_ = now + kFirstPatience;
    }
    // Where addresses are translated, nothing comes from where nothing was sent to.
    if (message.media_port != 0 && (target_.kind == fcc::Kind::kTelecom || message.session != 0)) {
        output_.send(media.with_port(message.media_port),
                     fcc::write_opening(target_.kind, message.session),
                     target_.kind == fcc::Kind::kHuawei);
    }
    if (target_.server != before && target_.kind == fcc::Kind::kTelecom) {
        output_.send(target_.server, fcc::write_opening(target_.kind, 0), false);
    }
}

void FastChange::take_media(MonoTime now, ByteSpan datagram) {
    const auto packet = rtp::PacketView::parse(datagram);
    if (!packet || rtp::is_rtcp(datagram)) {
        return;
    }
    if (state_ == State::kAsked || state_ == State::kAgreed) {  // the answer may be lost, or late
        state_ = State::kUnicast;
        sync_due_ = now + kSyncPatience;
    }
    packets_++;
    ssrc_ = packet->ssrc();
    if (!newest_ || is_at_or_behind(packet->sequence(), *newest_)) {
        newest_ = packet->sequence();
    }
    output_.on_unicast(now, datagram);
    if (state_ == State::kUnicast) {
        due_ = std::min(now + kMediaPatience, sync_due_);
    } else if (first_ && is_at_or_behind(*newest_, static_cast<uint16_t>(*first_ - 1))) {
        end("in step");
    } else {
        due_ = std::min(now + kMediaPatience, joined_ + kOverlapPatience);
    }
}

void FastChange::feed_group(MonoTime now, ByteSpan datagram) {
    if (state_ != State::kJoined || first_) {
        return;
    }
    const auto packet = rtp::PacketView::parse(datagram);
    if (!packet || rtp::is_rtcp(datagram)) {
        end("the group has no RTP");
        return;
    }
    first_ = packet->sequence();
    say_end(first_);
    if (ssrc_ && *ssrc_ != packet->ssrc()) {
        end("the group has another sender");
    } else if (newest_ && is_at_or_behind(*newest_, static_cast<uint16_t>(*first_ - 1))) {
        end("in step");
    } else {
        due_ = std::min(now + kMediaPatience, joined_ + kOverlapPatience);
    }
}

// ---- time ----

void FastChange::handle_timeout(MonoTime now) {
    if (now < due_) {
        return;
    }
    switch (state_) {
        case State::kAsked:
            if (now >= asked_ + kAnswerPatience) {
                end("no answer");
                return;
            }
            if (requests_ < kRequests) {
                requests_++;
                output_.send(target_.server,
                             fcc::write_request(target_.kind, {.group = group_, .local = local_}),
                             false);
            }
            due_ = requests_ < kRequests ? now + kRequestPeriod : asked_ + kAnswerPatience;
            break;
        case State::kAgreed: end("nothing comes by unicast"); break;
        case State::kUnicast:
            if (now >= sync_due_) {
                join(now);  // it never said that it has caught up
            } else {
                end("the unicast stopped");
            }
            break;
        case State::kJoined:
            end(first_ ? "the unicast stopped" : "nothing comes from the group");
            break;
        default: break;
    }
}

void FastChange::join(MonoTime now) {
    state_ = State::kJoined;
    joined_ = now;
    due_ = now + kOverlapPatience;
}

void FastChange::end(std::string_view outcome) {
    if (state_ != State::kNew && state_ != State::kAsked) {
        say_end(std::nullopt);
    }
    state_ = State::kOver;
    outcome_ = outcome;
    due_ = MonoTime::max();
}

void FastChange::stop() {
    if (state_ == State::kAsked) {
        say_end(std::nullopt);  // it may have agreed meanwhile
    }
    if (!is_over()) {
        end("stopped");
    }
}

// Once, with the reason that came first.
void FastChange::say_end(std::optional<uint16_t> first) {
    if (said_end_) {
        return;
    }
    said_end_ = true;
    if (first) {
        first = std::max<uint16_t>(static_cast<uint16_t>(*first + kOverlap), 1);  // 0: no number
    }
    for (int i = 0; i < kEnds; i++) {
        output_.send(target_.server, fcc::write_end(target_.kind, group_, first), false);
    }
}

}  // namespace weir::net
