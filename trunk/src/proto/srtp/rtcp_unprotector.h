// Opens the SRTCP packets of one peer that sends no RTP (a player), on OpenSSL's EVP, in 400 bytes.
//
// In place, no allocation. Each SSRC of the peer has a replay window of its own, since it counts by
// its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/object_count.h"
#include "proto/srtp/control_cipher.h"
#include "proto/srtp/keys.h"
#include "proto/srtp/replay_window.h"
#include "proto/srtp/status.h"

namespace weir::srtp {

class RtcpUnprotector final : private Counted<RtcpUnprotector> {
  public:
    static constexpr ObjectName kObjectName{"srtcp_unprotector", "srtp"};

    // A browser uses one SSRC for all of its reports, or one per track.
    static constexpr size_t kMaxSources = 8;

    // `control` must outlive this.
    RtcpUnprotector(Profile profile, const MasterKey& remote, ControlCipher& control);
    RtcpUnprotector(const RtcpUnprotector&) = delete;
    RtcpUnprotector& operator=(const RtcpUnprotector&) = delete;
    ~RtcpUnprotector() = default;

    // With another status than kOk the bytes are anything.
    Unprotected unprotect(std::span<uint8_t> packet);

  private:
    struct Source {
        ReplayWindow window;
        uint32_t ssrc = 0;
    };

    Source* find(uint32_t ssrc);

    ControlCipher& control_;
    ControlKey key_;
    uint8_t source_count_ = 0;
    std::array<Source, kMaxSources> sources_;
};

}  // namespace weir::srtp
