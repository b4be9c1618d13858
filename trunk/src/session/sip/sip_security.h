// What the calls of a server share for encrypted media: counters, the certificate of DTLS, made
// when the first call needs it, and what this side says in descriptions. Never yields.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "proto/dtls/identity.h"
#include "proto/sdp/phone.h"
#include "proto/srtp/control_cipher.h"
#include "proto/srtp/status.h"

namespace weir::session {

struct SipSecureCounters {
    uint64_t sdes = 0;  // tracks that were agreed with keys of the description
    uint64_t dtls = 0;  // handshakes that were done
    uint64_t dtls_failed = 0;
    uint64_t ice = 0;          // phones that ICE found
    uint64_t ice_failed = 0;   // that said ICE, and never checked
    uint64_t early = 0;        // packets before there were keys
    uint64_t ignored = 0;      // datagrams that mean nothing here
    uint64_t unauthentic = 0;  // packets that their key did not seal
    uint64_t replayed = 0;
    uint64_t malformed = 0;

    void count(srtp::Status status);
};

class SipSecurity {
  public:
    explicit SipSecurity(RandomSource& random) : random_(random) {}

    // Sets what `own` says about encryption and ICE in an answer to `offer`, or in an offer of ours
    // (null). `agreed`: what holds so far. `own` is kept by the call: keys and names go on as long
    // as the phone's do.
    void prepare(sdp::PhoneOptions& own,
                 sdp::PhoneSrtp policy,
                 const sdp::PhoneAgreement& agreed,
                 const sdp::PhoneDescription* offer);

    SipSecureCounters& counters() { return counters_; }

    const SipSecureCounters& counters() const { return counters_; }

    srtp::ControlCipher& control_cipher();

    // Null: it cannot be made.
    const dtls::Identity* identity();

  private:
    void prepare_answer(sdp::PhoneSecurity& own,
                        const sdp::PhoneTransport& offer,
                        const sdp::PhoneSecured& agreed);
    void prepare_offer(sdp::PhoneSecurity& own, bool in_use, const sdp::PhoneSecured& agreed);
    std::optional<sdp::Fingerprint> fingerprint();
    std::vector<sdp::CryptoLine> make_keys();

    RandomSource& random_;
    SipSecureCounters counters_;
    std::unique_ptr<srtp::ControlCipher> control_;
    std::unique_ptr<dtls::Identity> identity_;
};

}  // namespace weir::session
