// Opens what one publisher sends, by libsrtp2: SRTP and SRTCP of all of its SSRCs, with replay
// protection.
//
// In place: the packet gets shorter. No allocation per packet, except for the first one of an SSRC.
// Players send nothing but RTCP; rtcp_unprotector.h does that in a fraction of the memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/bytes.h"
#include "base/error.h"
#include "base/object_count.h"
#include "proto/srtp/keys.h"
#include "proto/srtp/status.h"

// libsrtp2's own name, so that its header is not needed here.
struct srtp_ctx_t_;

namespace weir::srtp {

class Unprotector final : private Counted<Unprotector> {
  public:
    static constexpr ObjectName kObjectName{"srtp_unprotector", "srtp"};
    static constexpr size_t kHeldBytes = 18'500;  // of libsrtp2's session with GCM, measured
    static constexpr size_t kSourceBytes = 400;   // and of its state for each SSRC

    // Simulcast layers, their RTX, audio: a dozen is normal. Packets of more SSRCs are dropped:
    // each costs some KB.
    static constexpr size_t kMaxSources = 32;

    // Packets that may arrive late, per SSRC. 2.5 s of 4 Mbit/s, more than any retransmission
    // takes.
    static constexpr unsigned kReplayWindow = 1024;

    // kInternal: the library cannot start.
    static Result<std::unique_ptr<Unprotector>> create(Profile profile, const MasterKey& remote);

    Unprotector(const Unprotector&) = delete;
    Unprotector& operator=(const Unprotector&) = delete;
    ~Unprotector();

    // The packet begins at a multiple of 4 bytes. With another status than kOk its bytes are
    // anything.
    Unprotected unprotect_rtp(std::span<uint8_t> packet);
    Unprotected unprotect_rtcp(std::span<uint8_t> packet);

    size_t sources() const { return source_count_; }

    // What libsrtp2 holds for it: a session, and state for each SSRC.
    size_t heap_bytes() const { return kHeldBytes + source_count_ * kSourceBytes; }

  private:
    struct Free {
        void operator()(srtp_ctx_t_* context) const;
    };

    explicit Unprotector(srtp_ctx_t_* context);

    template <typename Function>
    Unprotected unprotect(Function function, std::span<uint8_t> packet, uint32_t ssrc);
    bool is_known(uint32_t ssrc) const;

    std::unique_ptr<srtp_ctx_t_, Free> context_;
    std::array<uint32_t, kMaxSources> sources_{};  // SSRCs that libsrtp2 has state for
    size_t source_count_ = 0;
};

}  // namespace weir::srtp
