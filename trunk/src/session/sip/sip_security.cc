#include "session/sip/sip_security.h"

#include <algorithm>
#include <string_view>

#include "base/log.h"
#include "proto/ice/credentials.h"

namespace weir::session {
namespace {

// In the order of our offers; of an offer the phone's order counts.
constexpr std::string_view kSuites[] = {"AES_CM_128_HMAC_SHA1_80", "AES_CM_128_HMAC_SHA1_32",
                                        "AEAD_AES_128_GCM"};

bool has_key(const sdp::PhoneTransport& offer, const std::optional<sdp::CryptoLine>& key) {
    return key && std::ranges::any_of(offer.crypto, [&](const sdp::CryptoLine& each) {
               return each.suite == key->suite && each.key_and_salt == key->key_and_salt;
           });
}

}  // namespace

void SipSecureCounters::count(srtp::Status status) {
    switch (status) {
        case srtp::Status::kOk: return;
        case srtp::Status::kReplayed: replayed++; return;
        case srtp::Status::kMalformed: malformed++; return;
        case srtp::Status::kUnauthentic:
        case srtp::Status::kTooManySources: unauthentic++; return;
    }
}

srtp::ControlCipher& SipSecurity::control_cipher() {
    if (!control_) {
        control_ = std::make_unique<srtp::ControlCipher>();
    }
    return *control_;
}

const dtls::Identity* SipSecurity::identity() {
    if (!identity_) {
        Result<std::unique_ptr<dtls::Identity>> made = dtls::Identity::create();
        if (!made.ok()) {
            log::error("sip: no DTLS: {}", made.error().message());
            return nullptr;
        }
        identity_ = std::move(*made);
    }
    return identity_.get();
}

std::optional<sdp::Fingerprint> SipSecurity::fingerprint() {
    const dtls::Identity* const own = identity();
    if (own == nullptr) {
        return std::nullopt;
    }
    const auto& hash = own->fingerprint().sha256;
    return sdp::Fingerprint{"sha-256", {hash.begin(), hash.end()}};
}

std::vector<sdp::CryptoLine> SipSecurity::make_keys() {
    std::vector<sdp::CryptoLine> keys;
    for (const std::string_view suite : kSuites) {
        sdp::CryptoLine line;
        line.suite = suite;
        line.key_and_salt.resize(sdp::srtp_key_bytes(suite));
        random_.fill(line.key_and_salt);
        keys.push_back(std::move(line));
    }
    return keys;
}

void SipSecurity::prepare(sdp::PhoneOptions& own,
                          sdp::PhoneSrtp policy,
                          const sdp::PhoneAgreement& agreed,
                          const sdp::PhoneDescription* offer) {
    for (const bool audio : {true, false}) {
        sdp::PhoneTrackOptions& options = audio ? own.audio : own.video;
        const sdp::PhoneTrack& before = audio ? agreed.audio : agreed.video;
        options.security.srtp = policy;
        if (offer == nullptr) {
            prepare_offer(options.security, before.in_use, before.secured);
            continue;
        }
        const sdp::PhoneMedia* const theirs =
            offer->find(audio ? media::TrackKind::kAudio : media::TrackKind::kVideo);
        if (theirs != nullptr) {
            prepare_answer(options.security, theirs->transport, before.secured);
        }
    }
}

void SipSecurity::prepare_answer(sdp::PhoneSecurity& own,
                                 const sdp::PhoneTransport& offer,
                                 const sdp::PhoneSecured& agreed) {
    const bool off = own.srtp == sdp::PhoneSrtp::kOff;
    if (off || offer.crypto.empty()) {
        own.keys.clear();
    } else if (own.keys.empty() || !has_key(offer, agreed.remote_key)) {
        // Another key of the phone's begins another session of SRTP, in which our numbers begin
        // again, too: never under a key that was in use.
        own.keys = make_keys();
    }
    own.fingerprint = off || !offer.fingerprint ? std::nullopt : fingerprint();
    own.dtls_client =
        agreed.keys == sdp::PhoneKeys::kDtls ? std::optional(agreed.dtls_client) : std::nullopt;
    if (offer.ice_ufrag.empty()) {
        own.ice_ufrag.clear();
        own.ice_pwd.clear();
    } else if (own.ice_ufrag.empty() || offer.ice_ufrag != agreed.ice_ufrag ||
               offer.ice_pwd != agreed.ice_pwd) {  // RFC 8839 §4.4.1: it begins again
        const ice::Credentials made = ice::Credentials::make(random_);
        own.ice_ufrag = made.ufrag_text();
        own.ice_pwd = made.password_text();
    }
}

// In a call an offer of ours says what holds. The first one has keys as best effort (RFC 8643),
// which phones that do not know that read as plain RTP.
void SipSecurity::prepare_offer(sdp::PhoneSecurity& own,
                                bool in_use,
                                const sdp::PhoneSecured& agreed) {
    own.fingerprint.reset();
    if (in_use) {
        own.offer_profile = agreed.keys;
        own.keys.clear();
        if (agreed.local_key) {
            own.keys.push_back(*agreed.local_key);
        }
        if (agreed.keys == sdp::PhoneKeys::kDtls) {
            own.fingerprint = fingerprint();
            own.dtls_client = agreed.dtls_client;
        }
        own.ice_ufrag = agreed.local_ice_ufrag;
        own.ice_pwd = agreed.local_ice_pwd;
        return;
    }
    own.offer_profile =
        own.srtp == sdp::PhoneSrtp::kRequired ? sdp::PhoneKeys::kSdes : sdp::PhoneKeys::kNone;
    own.keys = own.srtp == sdp::PhoneSrtp::kOff ? std::vector<sdp::CryptoLine>() : make_keys();
    own.ice_ufrag.clear();
    own.ice_pwd.clear();
}

}  // namespace weir::session
