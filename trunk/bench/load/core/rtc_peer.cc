#include "bench/load/core/rtc_peer.h"

#include <algorithm>

#include <fmt/format.h>

#include "proto/ice/candidate.h"
#include "proto/rtp/header.h"
#include "proto/stun/message_writer.h"

namespace weir::load {
namespace {

constexpr size_t kCheckBytes = 700;  // user names may have 513
constexpr size_t kAnswerBytes = 128;

uint64_t random_u64(RandomSource& random) {
    std::array<uint8_t, 8> bytes;
    random.fill(bytes);
    return ByteReader(bytes).u64();
}

}  // namespace

RtcPeer::RtcPeer(const RtcShared& shared, RtcLink& link, RtcTotals& totals, Micros connect_timeout)
    : shared_(shared),
      link_(link),
      totals_(totals),
      connect_timeout_(connect_timeout),
      credentials_(ice::Credentials::make(shared.random)),
      tie_breaker_(random_u64(shared.random)) {}

RtcPeer::~RtcPeer() = default;

void RtcPeer::start(RtcAnswer answer, MonoTime asked, MonoTime now) {
    answer_ = std::move(answer);
    asked_ = asked;
    started_ = now;
    if (halt_ != RtcHalt::kCreated) {
        send_check(now);
    }
}

void RtcPeer::fail(std::string why) {
    if (!over_) {
        over_ = true;
        failure_ = std::move(why);
    }
}

// ---- ICE ----

void RtcPeer::send_check(MonoTime now) {
    shared_.random.fill(transaction_);
    check_open_ = true;
    repeated_ = false;
    repeat_ = kFirstRepeat;
    repeat_check(now);
}

void RtcPeer::repeat_check(MonoTime now) {
    std::array<uint8_t, kCheckBytes> buffer;
    stun::MessageWriter writer(buffer, stun::MessageClass::kRequest, stun::kBinding, transaction_);
    const uint32_t priority = ice::candidate_priority(
        ice::CandidateType::kPeerReflexive, ice::Transport::kUdp, ice::TcpType::kNone, 65'535);
    writer.username(fmt::format("{}:{}", answer_.ice_ufrag, credentials_.ufrag_text()))
        .priority(priority)
        .ice_controlling(tie_breaker_)
        .use_candidate()
        .integrity(as_bytes(answer_.ice_pwd))
        .fingerprint();
    check_sent_ = now;
    next_check_ = now + repeat_;
    repeat_ = std::min(repeat_ * 2, kLongestRepeat);
    link_.send(writer.message(), 0);
}

// The server asks whether we are where our packets come from, before it sends media.
void RtcPeer::answer_check(const stun::MessageView& check) {
    if (check.method != stun::kBinding || !check.check_integrity(credentials_.key())) {
        return;
    }
    std::array<uint8_t, kAnswerBytes> buffer;
    stun::MessageWriter writer(buffer, stun::MessageClass::kSuccess, stun::kBinding,
                               check.transaction);
    writer.xor_mapped_address(answer_.address).integrity(credentials_.key()).fingerprint();
    link_.send(writer.message(), 0);
}

void RtcPeer::on_stun(MonoTime now, ByteSpan datagram) {
    stun::MessageView message;
    if (stun::MessageView::parse(datagram, message) != stun::ParseStatus::kDone) {
        return;
    }
    if (message.message_class == stun::MessageClass::kRequest) {
        answer_check(message);
        return;
    }
    if (message.transaction != transaction_ || !check_open_) {
        return;
    }
    if (message.message_class == stun::MessageClass::kError) {
        fail(fmt::format("the server refuses ICE checks: {}", message.error_code));
        return;
    }
    if (message.message_class != stun::MessageClass::kSuccess ||
        !message.check_integrity(as_bytes(answer_.ice_pwd))) {
        return;
    }
    check_open_ = false;
    next_check_ = now + kConsentInterval;
    if (!repeated_) {
        rtt_ = now - check_sent_;
        totals_.rtt.add(static_cast<uint64_t>(rtt_.count()));
    }
    const bool is_first = answered_ == MonoTime{};
    answered_ = now;
    if (is_first) {
        totals_.ice.add(static_cast<uint64_t>((now - asked_).count()));
        if (halt_ == RtcHalt::kIce) {
            return;
        }
        dtls::TransportOptions options;
        options.role = answer_.dtls_server ? dtls::Role::kClient : dtls::Role::kServer;
        options.remote = answer_.fingerprint;
        options.handshake_timeout = std::chrono::ceil<Millis>(connect_timeout_);
        dtls_ = std::make_unique<dtls::Transport>(shared_.identity, options, now);
        drain_dtls(now);
    }
}

// ---- DTLS and what it brings ----

void RtcPeer::drain_dtls(MonoTime now) {
    for (ByteSpan datagram = dtls_->poll_transmit(); !datagram.empty();
         datagram = dtls_->poll_transmit()) {
        link_.send(datagram, 0);
    }
    while (const auto event = dtls_->poll_event()) {
        switch (*event) {
            case dtls::Event::kConnected: take_keys(now); break;
            case dtls::Event::kFailed:
                fail(fmt::format("DTLS: {}", dtls_->take_error().message()));
                break;
            case dtls::Event::kClosed: fail("the server ended the session"); break;
        }
    }
}

void RtcPeer::take_keys(MonoTime now) {
    const srtp::Keys keys = dtls_->take_keys();
    auto unprotector = srtp::Unprotector::create(keys.profile, keys.remote);
    if (!unprotector.ok()) {
        fail(std::string(unprotector.error().message()));
        return;
    }
    unprotector_ = std::move(unprotector).value();
    protector_ = std::make_unique<srtp::Protector>(keys.profile, keys.local, shared_.control);
    totals_.dtls.add(static_cast<uint64_t>((now - asked_).count()));
    on_connected(now);
}

void RtcPeer::handle_packet(MonoTime now, std::span<uint8_t> datagram) {
    if (over_ || datagram.empty()) {
        return;
    }
    const uint8_t first = datagram[0];  // RFC 7983 §7
    if (first < 4) {
        on_stun(now, datagram);
    } else if (first >= 20 && first < 64) {
        if (dtls_) {
            dtls_->handle_packet(now, datagram);
            drain_dtls(now);
        }
    } else if (first >= 128 && first < 192 && unprotector_) {
        on_media(now, datagram);
    }
}

void RtcPeer::on_media(MonoTime now, std::span<uint8_t> datagram) {
    const bool is_rtcp = rtp::is_rtcp(datagram);
    const srtp::Unprotected plain =
        is_rtcp ? unprotector_->unprotect_rtcp(datagram) : unprotector_->unprotect_rtp(datagram);
    if (!plain.ok()) {
        totals_.refused++;
    } else if (is_rtcp) {
        on_rtcp(now, datagram.first(plain.size));
    } else {
        on_rtp(now, datagram.first(plain.size));
    }
}

void RtcPeer::send_rtcp(std::span<uint8_t> buffer, size_t size) {
    const size_t whole = protector_->protect_rtcp(buffer, size);
    if (whole > 0) {
        link_.send(buffer.first(whole), 0);
    }
}

void RtcPeer::handle_timeout(MonoTime now) {
    if (over_) {
        return;
    }
    if (!connected() && halt_ == RtcHalt::kNever && now - started_ >= connect_timeout_) {
        fail(answered_ == MonoTime{}
                 ? fmt::format("no answer to ICE checks from udp {}", answer_.address.to_string())
                 : std::string("the DTLS handshake did not end in time"));
        return;
    }
    if (answered_ != MonoTime{} && now - answered_ >= kConsentTimeout) {
        fail("the server answers no ICE checks any more");
        return;
    }
    if (now >= next_check_) {
        if (check_open_) {
            repeated_ = true;
            repeat_check(now);
        } else {
            send_check(now);
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

MonoTime RtcPeer::next_timeout() const {
    if (over_) {
        return MonoTime::max();
    }
    MonoTime due = next_check_;
    if (dtls_) {
        due = std::min(due, dtls_->next_timeout().value_or(due));
    }
    if (connected()) {
        return std::min(due, next_media_timeout());
    }
    return halt_ == RtcHalt::kNever ? std::min(due, started_ + connect_timeout_) : due;
}

void RtcPeer::close() {
    if (dtls_ && dtls_->is_connected() && !over_) {
        dtls_->close();
        for (ByteSpan datagram = dtls_->poll_transmit(); !datagram.empty();
             datagram = dtls_->poll_transmit()) {
            link_.send(datagram, 0);
        }
    }
    fail("closed");
}

}  // namespace weir::load
