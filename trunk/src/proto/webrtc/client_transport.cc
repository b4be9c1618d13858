#include "proto/webrtc/client_transport.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "proto/ice/candidate.h"
#include "proto/rtp/header.h"
#include "proto/stun/message_writer.h"

namespace weir::webrtc {
namespace {

constexpr size_t kCheckBytes = 700;  // user names may have 513
constexpr size_t kAnswerBytes = 128;

uint64_t random_u64(RandomSource& random) {
    std::array<uint8_t, 8> bytes;
    random.fill(bytes);
    return ByteReader(bytes).u64();
}

}  // namespace

ClientTransport::ClientTransport(const ClientShared& shared, ClientLink& link)
    : shared_(shared),
      link_(link),
      credentials_(ice::Credentials::make(shared.random)),
      tie_breaker_(random_u64(shared.random)) {}

ClientTransport::~ClientTransport() = default;

std::vector<NetAddress> ClientTransport::addresses_of(const sdp::RemoteTransport& remote) {
    std::vector<NetAddress> all;
    for (const std::string& text : remote.candidates) {
        const auto candidate = ice::Candidate::parse("candidate:" + text);
        if (candidate && candidate->transport == ice::Transport::kUdp &&
            candidate->component == 1 && candidate->host_name.empty() &&
            candidate->address.port() != 0 && !candidate->address.is_any() &&
            all.size() < kMaxCandidates &&
            std::ranges::find(all, candidate->address) == all.end()) {
            all.push_back(candidate->address);
        }
    }
    return all;
}

void ClientTransport::start(const sdp::RemoteTransport& remote,
                            std::vector<NetAddress> servers,
                            Micros timeout,
                            MonoTime now) {
    connect_timeout_ = timeout;
    remote_ufrag_ = remote.ice_ufrag;
    remote_pwd_ = remote.ice_pwd;
    dtls_options_.role = remote.dtls_client ? dtls::Role::kClient : dtls::Role::kServer;
    dtls_options_.remote.sha256 = remote.fingerprint_sha256;
    dtls_options_.handshake_timeout = std::chrono::ceil<Millis>(connect_timeout_);
    started_ = now;
    servers.resize(std::min(servers.size(), kMaxCandidates));
    for (const NetAddress& each : servers) {
        Pair& pair = pairs_.emplace_back();
        pair.remote = each;
        pair.next = now + kPace * static_cast<int>(pairs_.size() - 1);
    }
    handle_timeout(now);
}

void ClientTransport::fail(Error why) {
    if (!over_) {
        over_ = true;
        failure_ = std::move(why);
    }
}

void ClientTransport::transmit(ByteSpan datagrams, size_t segment_bytes) {
    link_.send(*chosen_, datagrams, segment_bytes);
}

// ---- ICE ----

ClientTransport::Pair* ClientTransport::pair_at(const NetAddress& remote) {
    const auto found = std::ranges::find(pairs_, remote, &Pair::remote);
    return found == pairs_.end() ? nullptr : &*found;
}

void ClientTransport::send_check(MonoTime now, Pair& pair, bool nominating) {
    shared_.random.fill(pair.transaction);
    pair.open = true;
    pair.repeated = false;
    pair.nominating = nominating;
    pair.repeat = kFirstRepeat;
    repeat_check(now, pair);
}

void ClientTransport::repeat_check(MonoTime now, Pair& pair) {
    std::array<uint8_t, kCheckBytes> buffer;
    stun::MessageWriter writer(buffer, stun::MessageClass::kRequest, stun::kBinding,
                               pair.transaction);
    const uint32_t priority = ice::candidate_priority(
        ice::CandidateType::kPeerReflexive, ice::Transport::kUdp, ice::TcpType::kNone, 65'535);
    writer.username(fmt::format("{}:{}", remote_ufrag_, credentials_.ufrag_text()))
        .priority(priority)
        .ice_controlling(tie_breaker_);
    if (pair.nominating) {
        writer.use_candidate();
    }
    writer.integrity(as_bytes(remote_pwd_)).fingerprint();
    pair.sent = now;
    pair.next = now + pair.repeat;
    pair.repeat = std::min(pair.repeat * 2, kLongestRepeat);
    link_.send(pair.remote, writer.message(), 0);
}

// The server asks whether we are where our packets come from. It may be at an address that it did
// not name.
void ClientTransport::answer_check(MonoTime now,
                                   const stun::MessageView& check,
                                   const NetAddress& from) {
    if (check.method != stun::kBinding || !check.check_integrity(credentials_.key())) {
        return;
    }
    std::array<uint8_t, kAnswerBytes> buffer;
    stun::MessageWriter writer(buffer, stun::MessageClass::kSuccess, stun::kBinding,
                               check.transaction);
    writer.xor_mapped_address(from).integrity(credentials_.key()).fingerprint();
    link_.send(from, writer.message(), 0);
    if (!chosen_ && pair_at(from) == nullptr && pairs_.size() < kMaxCandidates) {
        Pair& pair = pairs_.emplace_back();
        pair.remote = from;
        pair.next = now;
    }
}

void ClientTransport::on_stun(MonoTime now, ByteSpan datagram, const NetAddress& from) {
    stun::MessageView message;
    if (stun::MessageView::parse(datagram, message) != stun::ParseStatus::kDone) {
        return;
    }
    if (message.message_class == stun::MessageClass::kRequest) {
        answer_check(now, message, from);
        return;
    }
    Pair* const pair = pair_at(from);
    if (pair == nullptr || !pair->open || message.transaction != pair->transaction) {
        return;
    }
    if (message.message_class == stun::MessageClass::kError) {
        on_check_refused(*pair, message.error_code);
    } else if (message.message_class == stun::MessageClass::kSuccess &&
               message.check_integrity(as_bytes(remote_pwd_))) {
        on_check_answered(now, *pair);
    }
}

// It is no way to the server; the others may be.
void ClientTransport::on_check_refused(Pair& pair, uint16_t code) {
    pair.open = false;
    pair.next = MonoTime::max();
    const bool hopeless = std::ranges::all_of(
        pairs_, [](const Pair& each) { return !each.open && each.next == MonoTime::max(); });
    if (hopeless) {
        fail(make_error(ErrorCode::kDenied, "the server refuses ICE checks: {}", code));
    }
}

// The only one from now on.
void ClientTransport::choose(Pair& pair) {
    chosen_ = pair.remote;
    Pair only = pair;
    pairs_.clear();
    pairs_.push_back(only);
}

void ClientTransport::on_check_answered(MonoTime now, Pair& pair) {
    pair.open = false;
    if (!pair.repeated) {
        on_round_trip(now - pair.sent);
    }
    const bool nominated = pair.nominating;
    if (!chosen_) {
        choose(pair);
    }
    Pair& only = pairs_.front();
    if (!nominated) {
        send_check(now, only, true);
        return;
    }
    only.next = now + kConsentInterval;
    const bool is_first = std::exchange(answered_, now) == MonoTime{};
    if (is_first) {
        begin_dtls(now);
    }
}

// ---- DTLS and what it brings ----

void ClientTransport::begin_dtls(MonoTime now) {
    halted_ = !on_path(now);
    if (!halted_ && !over_) {
        dtls_ = std::make_unique<dtls::Transport>(shared_.identity, dtls_options_, now);
        drain_dtls(now);
    }
}

void ClientTransport::drain_dtls(MonoTime now) {
    for (ByteSpan datagram = dtls_->poll_transmit(); !datagram.empty();
         datagram = dtls_->poll_transmit()) {
        transmit(datagram, 0);
    }
    while (const auto event = dtls_->poll_event()) {
        switch (*event) {
            case dtls::Event::kConnected: take_keys(now); break;
            case dtls::Event::kFailed: fail(dtls_->take_error().with_context("DTLS")); break;
            case dtls::Event::kClosed:
                fail(make_error(ErrorCode::kClosed, "the server ended the session"));
                break;
        }
    }
}

void ClientTransport::take_keys(MonoTime now) {
    const srtp::Keys keys = dtls_->take_keys();
    auto unprotector = srtp::Unprotector::create(keys.profile, keys.remote);
    if (!unprotector.ok()) {
        fail(unprotector.take_error());
        return;
    }
    unprotector_ = std::move(unprotector).value();
    protector_ = std::make_unique<srtp::Protector>(keys.profile, keys.local, shared_.control);
    on_connected(now);
}

void ClientTransport::handle_packet(MonoTime now,
                                    std::span<uint8_t> datagram,
                                    const NetAddress& from) {
    if (over_ || datagram.empty()) {
        return;
    }
    const uint8_t first = datagram[0];  // RFC 7983 §7
    if (first < 4) {
        on_stun(now, datagram, from);
    } else if (first >= 20 && first < 64) {
        if (dtls_ && chosen_ == from) {
            dtls_->handle_packet(now, datagram);
            drain_dtls(now);
        }
    } else if (first >= 128 && first < 192 && unprotector_) {
        on_media(now, datagram);
    }
}

void ClientTransport::on_media(MonoTime now, std::span<uint8_t> datagram) {
    const bool is_rtcp = rtp::is_rtcp(datagram);
    const srtp::Unprotected plain =
        is_rtcp ? unprotector_->unprotect_rtcp(datagram) : unprotector_->unprotect_rtp(datagram);
    if (!plain.ok()) {
        on_refused();
        return;
    }
    dtls_->confirm();
    if (is_rtcp) {
        on_rtcp(now, datagram.first(plain.size));
    } else {
        on_rtp(now, datagram.first(plain.size));
    }
}

void ClientTransport::send_rtcp(std::span<uint8_t> buffer, size_t size) {
    const size_t whole = protector_->protect_rtcp(buffer, size);
    if (whole > 0) {
        transmit(buffer.first(whole), 0);
    }
}

// ---- timers ----

Error ClientTransport::no_answer() const {
    std::string all;
    for (const Pair& each : pairs_) {
        all += fmt::format("{}{}", all.empty() ? "" : ", ", each.remote.to_string());
    }
    return make_error(ErrorCode::kTimeout, "no answer to ICE checks from udp {}", all);
}

void ClientTransport::handle_timeout(MonoTime now) {
    if (over_) {
        return;
    }
    if (!connected() && !halted_ && now - started_ >= connect_timeout_) {
        fail(answered_ == MonoTime{}
                 ? no_answer()
                 : make_error(ErrorCode::kTimeout, "the DTLS handshake did not end in time"));
        return;
    }
    if (answered_ != MonoTime{} && now - answered_ >= kConsentTimeout) {
        fail(make_error(ErrorCode::kTimeout, "the server answers no ICE checks any more"));
        return;
    }
    for (Pair& pair : pairs_) {
        if (now < pair.next) {
            continue;
        }
        if (pair.open) {
            pair.repeated = true;
            repeat_check(now, pair);
        } else {
            send_check(now, pair, chosen_ || pairs_.size() == 1);
        }
    }
    if (dtls_) {
        dtls_->handle_timeout(now);
        drain_dtls(now);
    }
    if (connected()) {
        on_timeout(now);
    }
}

MonoTime ClientTransport::next_timeout() const {
    if (over_ || pairs_.empty()) {
        return MonoTime::max();
    }
    MonoTime due = MonoTime::max();
    for (const Pair& pair : pairs_) {
        due = std::min(due, pair.next);
    }
    if (dtls_) {
        due = std::min(due, dtls_->next_timeout().value_or(due));
    }
    if (connected()) {
        return std::min(due, next_media_timeout());
    }
    return halted_ ? due : std::min(due, started_ + connect_timeout_);
}

void ClientTransport::close() {
    if (dtls_ && dtls_->is_connected() && !over_) {
        dtls_->close();
        for (ByteSpan datagram = dtls_->poll_transmit(); !datagram.empty();
             datagram = dtls_->poll_transmit()) {
            transmit(datagram, 0);
        }
    }
    fail(make_error(ErrorCode::kClosed, "closed"));
}

}  // namespace weir::webrtc
