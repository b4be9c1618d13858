#include "session/sip/sip_secure.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "proto/rtp/header.h"
#include "proto/stun/message.h"

namespace weir::session {
namespace {

using sdp::PhoneKeys;

// A lite agent hears nothing of phones whose ICE is RFC 5245: they check no more after the
// nomination. Whether a phone is still there is a matter of rtp_timeout.
constexpr Millis kNoConsent{24 * 3'600'000};

// A new key begins with no roll-over that is hidden by a loss.
constexpr uint64_t kLastFirstNumber = 0xFC00;

constexpr size_t kSequenceAt = 2;  // in a header of RTP

constexpr uint8_t kFirstDtls = 20;  // RFC 7983 §7
constexpr uint8_t kLastDtls = 63;
constexpr uint8_t kFirstRtp = 128;
constexpr uint8_t kLastRtp = 191;

std::optional<srtp::Profile> profile_of(std::string_view suite) {
    return suite == "AES_CM_128_HMAC_SHA1_80"   ? std::optional(srtp::Profile::kAes128CmSha1_80)
           : suite == "AES_CM_128_HMAC_SHA1_32" ? std::optional(srtp::Profile::kAes128CmSha1_32)
           : suite == "AEAD_AES_128_GCM"        ? std::optional(srtp::Profile::kAeadAes128Gcm)
                                                : std::nullopt;
}

srtp::MasterKey master_of(const sdp::CryptoLine& line) {
    srtp::MasterKey master;
    const ByteSpan bytes(line.key_and_salt);
    std::ranges::copy(bytes.first(srtp::kKeySize), master.key.begin());
    std::ranges::copy(bytes.subspan(srtp::kKeySize), master.salt.begin());
    return master;
}

bool same_key(const std::optional<sdp::CryptoLine>& a, const std::optional<sdp::CryptoLine>& b) {
    return a && b && a->suite == b->suite && a->key_and_salt == b->key_and_salt;
}

ice::Credentials credentials_of(const sdp::PhoneSecured& secured) {
    ice::Credentials made;
    WEIR_CHECK(secured.local_ice_ufrag.size() == made.ufrag.size() &&
               secured.local_ice_pwd.size() == made.password.size());
    std::ranges::copy(secured.local_ice_ufrag, made.ufrag.begin());
    std::ranges::copy(secured.local_ice_pwd, made.password.begin());
    return made;
}

bool knows(const ice::LiteAgent& agent, const ice::Path& path) {
    bool known = false;
    agent.visit_paths([&](const ice::Path& each) { known = known || each == path; });
    return known;
}

}  // namespace

SipSecure::SipSecure(SipSecurity& security, RandomSource& random)
    : security_(security), random_(random) {
    next_number_ = random_u32(random_) & 0x7FFFU;
}

SipSecure::~SipSecure() = default;

// ---- what was agreed ----

Error SipSecure::agree(MonoTime now, const sdp::PhoneTrack& track) {
    const sdp::PhoneSecured before = std::exchange(secured_, track.secured);
    mux_ = track.rtcp_mux;
    agree_ice(now, before);
    if (secured_.keys != before.keys) {
        for (Component& each : components_) {
            each.dtls.reset();
            each.keys = {};
        }
        keys_due_ = MonoTime::max();
    }
    if (secured_.keys == PhoneKeys::kSdes) {
        WEIR_TRY(agree_sdes(before));
    } else if (secured_.keys == PhoneKeys::kDtls) {
        agree_dtls(now, before);
    }
    settle(now);
    return {};
}

void SipSecure::agree_ice(MonoTime now, const sdp::PhoneSecured& before) {
    const bool same = secured_.ice_ufrag == before.ice_ufrag &&
                      secured_.ice_pwd == before.ice_pwd &&
                      secured_.local_ice_ufrag == before.local_ice_ufrag;
    for (size_t i = 0; i < kComponents; i++) {
        std::unique_ptr<ice::LiteAgent>& agent = components_[i].agent;
        if (!secured_.has_ice() || (i > 0 && mux_)) {
            agent.reset();
            continue;
        }
        if (same && agent) {
            continue;
        }
        ice::RemoteCredentials remote{secured_.ice_ufrag, secured_.ice_pwd};
        if (agent && !agent->ended()) {
            agent->restart(credentials_of(secured_), std::move(remote));
            continue;
        }
        ice::AgentOptions options;
        options.connect_timeout = kIceTimeout;
        options.consent_timeout = kNoConsent;
        agent = std::make_unique<ice::LiteAgent>(now, options, credentials_of(secured_),
                                                 std::move(remote), random_);
    }
}

Error SipSecure::agree_sdes(const sdp::PhoneSecured& before) {
    const auto profile = profile_of(secured_.local_key->suite);
    if (!profile) {
        return make_error(ErrorCode::kInternal, "no SRTP for that suite");
    }
    Keys& keys = components_[0].keys;
    if (!keys.protector || !same_key(secured_.local_key, before.local_key)) {
        keys.protector = std::make_unique<srtp::Protector>(*profile, master_of(*secured_.local_key),
                                                           security_.control_cipher());
        restart_numbers();
        security_.counters().sdes++;
    }
    if (!keys.unprotector || !same_key(secured_.remote_key, before.remote_key)) {
        WEIR_TRY_ASSIGN(keys.unprotector,
                        srtp::Unprotector::create(*profile, master_of(*secured_.remote_key)));
    }
    return {};
}

void SipSecure::agree_dtls(MonoTime now, const sdp::PhoneSecured& before) {
    if (before.keys == PhoneKeys::kDtls &&
        secured_.remote_fingerprint == before.remote_fingerprint &&
        secured_.dtls_client == before.dtls_client) {
        return;
    }
    keys_due_ = now + kKeyTimeout;
    for (size_t i = 0; i < kComponents; i++) {
        Component& each = components_[i];
        each.dtls.reset();
        each.keys = {};
        each.dtls_peer = {};
        if (secured_.dtls_client && !each.agent && (i == 0 || !mux_)) {
            start_dtls(now, each);
        }
    }
}

void SipSecure::start_dtls(MonoTime now, Component& component) {
    const dtls::Identity* const identity = security_.identity();
    if (component.dtls || identity == nullptr) {
        return;
    }
    dtls::TransportOptions options;
    options.role = secured_.dtls_client ? dtls::Role::kClient : dtls::Role::kServer;
    std::ranges::copy(secured_.remote_fingerprint->bytes, options.remote.sha256.begin());
    component.dtls = std::make_unique<dtls::Transport>(*identity, options, now);
}

// ---- what comes ----

SipSecure::Taken SipSecure::take(
    MonoTime now, bool rtcp_port, std::span<uint8_t> datagram, const NetAddress& from, bool named) {
    SipSecureCounters& counters = security_.counters();
    const size_t at = component_of(rtcp_port);
    Component& component = components_[at];
    const ice::Path path{from, rtcp_port ? 1U : 0U};
    if (component.agent && !component.agent->ended() && stun::looks_like_stun(datagram)) {
        take_stun(now, at, datagram, path);
        return {};
    }
    if (!named && !(component.agent && knows(*component.agent, path))) {
        return {Taken::Kind::kStranger};
    }
    const uint8_t first = datagram.empty() ? 0 : datagram[0];
    if (first >= kFirstDtls && first <= kLastDtls && secured_.keys == PhoneKeys::kDtls) {
        take_dtls(now, component, datagram, path);
        return {};
    }
    if (first < kFirstRtp || first > kLastRtp) {
        counters.ignored++;
        return {};
    }
    const bool rtcp = rtcp_port || (mux_ && rtp::is_rtcp(datagram));
    const Taken::Kind kind = rtcp ? Taken::Kind::kRtcp : Taken::Kind::kRtp;
    if (!encrypts()) {
        return {kind, datagram};
    }
    const Keys& keys = keys_of(at);
    if (!keys.unprotector) {
        counters.early++;
        return {};
    }
    const srtp::Unprotected plain = rtcp ? keys.unprotector->unprotect_rtcp(datagram)
                                         : keys.unprotector->unprotect_rtp(datagram);
    counters.count(plain.status);
    if (!plain.ok()) {
        return {};
    }
    if (component.dtls) {
        component.dtls->confirm();
    }
    if (component.agent) {
        component.agent->note_received(now, path, datagram.size(), true);
    }
    return {kind, datagram.first(plain.size)};
}

void SipSecure::take_stun(MonoTime now, size_t at, ByteSpan datagram, const ice::Path& from) {
    const ice::Reply reply = components_[at].agent->handle_packet(now, datagram, from, out_);
    if (reply.response_bytes > 0) {
        reply_ = {from.link != 0, from.remote, ByteSpan(out_).first(reply.response_bytes)};
    }
    if (reply.verdict != ice::Verdict::kAccepted && reply.verdict != ice::Verdict::kAnswer) {
        security_.counters().ignored++;
    }
    settle(now);
}

void SipSecure::take_dtls(MonoTime now,
                          Component& component,
                          ByteSpan datagram,
                          const ice::Path& from) {
    if (component.agent) {
        component.agent->note_received(now, from, datagram.size(), false);
    }
    start_dtls(now, component);
    if (component.dtls) {
        component.dtls_peer = from.remote;
        component.dtls->handle_packet(now, datagram);
    }
    settle(now);
}

// ---- what they bring about ----

void SipSecure::settle(MonoTime now) {
    for (size_t i = 0; i < kComponents; i++) {
        drain_ice(now, components_[i]);
        drain_dtls(i);
    }
}

void SipSecure::drain_ice(MonoTime now, Component& component) {
    if (!component.agent) {
        return;
    }
    while (const std::optional<ice::Event> event = component.agent->poll_event()) {
        using Type = ice::Event::Type;
        if (event->type == Type::kConnected) {
            security_.counters().ice++;
        } else if (event->type == Type::kFailed) {
            security_.counters().ice_failed++;
        }
        const bool settled = event->type == Type::kConnected || event->type == Type::kFailed;
        if (settled && secured_.keys == PhoneKeys::kDtls && secured_.dtls_client) {
            start_dtls(now, component);
        }
    }
}

void SipSecure::drain_dtls(size_t at) {
    Component& component = components_[at];
    if (!component.dtls) {
        return;
    }
    while (const std::optional<dtls::Event> event = component.dtls->poll_event()) {
        switch (*event) {
            case dtls::Event::kConnected: {
                security_.counters().dtls++;
                Error failed = set_keys(component.keys, component.dtls->take_keys());
                if (at == 0) {
                    failure_ = std::move(failed);
                    restart_numbers();
                }
                break;
            }
            case dtls::Event::kFailed: {
                security_.counters().dtls_failed++;
                Error why = component.dtls->take_error();
                if (at == 0) {  // without RTCP there is still a call
                    failure_ = std::move(why);
                }
                break;
            }
            case dtls::Event::kClosed: component.keys = {}; break;
        }
    }
}

Error SipSecure::set_keys(Keys& keys, const srtp::Keys& made) {
    WEIR_TRY_ASSIGN(keys.unprotector, srtp::Unprotector::create(made.profile, made.remote));
    keys.protector =
        std::make_unique<srtp::Protector>(made.profile, made.local, security_.control_cipher());
    return {};
}

// The roll-over counter begins again; the phone sees one sequence of numbers.
void SipSecure::restart_numbers() {
    next_number_ &= 0xFFFFU;
    if (next_number_ > kLastFirstNumber) {
        next_number_ = 0;
    }
}

// ---- what goes ----

bool SipSecure::is_ready(size_t at) const {
    const Component& component = components_[at];
    return (!encrypts() || keys_of(at).protector) &&
           (!component.agent || component.agent->ended() ||
            component.agent->media_path() != nullptr);
}

NetAddress SipSecure::path(bool rtcp_port) const {
    const Component& component = components_[component_of(rtcp_port)];
    const ice::Path* const found = component.agent ? component.agent->media_path() : nullptr;
    return found == nullptr ? NetAddress() : found->remote;
}

size_t SipSecure::seal_rtp(std::span<uint8_t> buffer, size_t size) {
    if (!encrypts()) {
        return size;
    }
    if (size < rtp::kFixedHeaderSize || size > buffer.size()) {
        return 0;
    }
    const uint64_t number = next_number_++;  // whatever becomes of it: it is used once
    store_u16(buffer.data() + kSequenceAt, static_cast<uint16_t>(number));
    return components_[0].keys.protector->protect_rtp(buffer, size, number);
}

size_t SipSecure::seal_rtcp(std::span<uint8_t> buffer, size_t size) {
    if (!encrypts()) {
        return size;
    }
    return keys_of(mux_ ? 0 : 1).protector->protect_rtcp(buffer, size);
}

std::optional<SipSecure::Transmit> SipSecure::poll_transmit(MonoTime now, const MaySend& may) {
    if (!reply_.bytes.empty()) {
        return std::exchange(reply_, {});
    }
    for (size_t i = 0; i < kComponents; i++) {
        Component& component = components_[i];
        ice::LiteAgent* const agent =
            component.agent && !component.agent->ended() ? component.agent.get() : nullptr;
        size_t bytes = 0;
        const ice::Path* path = agent != nullptr ? agent->poll_check(now, out_, bytes) : nullptr;
        if (path != nullptr) {
            return Transmit{path->link != 0, path->remote, ByteSpan(out_).first(bytes)};
        }
        const size_t waits = component.dtls ? component.dtls->transmit_bytes() : 0;
        if (waits == 0) {
            continue;
        }
        if (agent == nullptr) {
            if (may(i == 1, component.dtls_peer, waits)) {
                return Transmit{i == 1, component.dtls_peer, component.dtls->poll_transmit()};
            }
            continue;
        }
        path = agent->selected();
        if (path != nullptr && agent->take(*path, waits)) {
            return Transmit{path->link != 0, path->remote, component.dtls->poll_transmit()};
        }
    }
    return std::nullopt;
}

// ---- time ----

void SipSecure::handle_timeout(MonoTime now) {
    for (Component& each : components_) {
        if (each.agent) {
            each.agent->handle_timeout(now);
        }
        if (each.dtls) {
            each.dtls->handle_timeout(now);
        }
    }
    settle(now);
    if (now >= keys_due_) {
        keys_due_ = MonoTime::max();
        if (!components_[0].keys.protector && !failure_) {
            security_.counters().dtls_failed++;
            failure_ = make_error(ErrorCode::kTimeout, "no DTLS handshake within {} ms",
                                  kKeyTimeout.count());
        }
    }
}

}  // namespace weir::session
