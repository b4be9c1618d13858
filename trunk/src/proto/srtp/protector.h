// Protects what one session sends: SRTP (RFC 3711, RFC 7714) and SRTCP, on OpenSSL's EVP.
//
// Not libsrtp2, which Debian builds on NSS at two to four times the time per packet
// (doc/adr/0009-srtp-dtls.md); the tests hold each packet against libsrtp2's, byte for byte. No
// allocation per packet. The AES context of RTP is made when the first RTP packet is: a session
// that only sends RTCP has none.
//
// The caller numbers RTP packets. A number, SSRC and key together give the key stream, so **the
// same index must never go with other bytes**: a packet that is resent as it was (no RTX) must be
// the first one, header extensions included, or both are readable and GCM's authentication key with
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/object_count.h"
#include "proto/srtp/aes.h"
#include "proto/srtp/control_cipher.h"
#include "proto/srtp/keys.h"

namespace weir::srtp {

// Size of the header with CSRCs and extension (RFC 3550 §5.1, §5.3.1): what stays in the clear. 0
// when `packet` does not hold one whole.
size_t rtp_header_size(ByteSpan packet);

// A packet whose header is the player's own and whose payload many players share.
struct RtpPieces {
    ByteSpan header;   // with CSRCs and extension, whole
    ByteSpan prefix;   // of the payload: the original sequence number of RTX, or nothing
    ByteSpan payload;  // with padding, if any
};

class Protector final : private Counted<Protector> {
  public:
    static constexpr ObjectName kObjectName{"srtp_protector", "srtp"};

    // `control` must outlive this.
    Protector(Profile profile, const MasterKey& local, ControlCipher& control);
    Protector(const Protector&) = delete;
    Protector& operator=(const Protector&) = delete;
    ~Protector();

    Profile profile() const { return rtcp_.profile; }

    // What it holds besides itself.
    size_t heap_bytes() const { return aes_ ? Aes::kHeapBytes : 0; }

    // Writes the protected packet to `out` and gives its size: the pieces and
    // rtp_overhead(profile()). `index` is the roll-over counter * 65536 + sequence number; the
    // counter starts with 0 for each SSRC, whatever its first sequence number (RFC 3711 §3.3.1). 0:
    // the header is not one whole RTP header, its sequence number is not that of `index`, or `out`
    // is too small. `out` may start at the header when all pieces already stand there one after the
    // other; otherwise it overlaps none.
    size_t protect_rtp(const RtpPieces& pieces, uint64_t index, std::span<uint8_t> out);

    // The same in place: the packet is the first `size` bytes of the buffer.
    size_t protect_rtp(std::span<uint8_t> buffer, size_t size, uint64_t index);

    // In place, with a counter of its own; one counter for all SSRCs. The size with
    // rtcp_overhead(profile()), or 0: the packet is shorter than 8 bytes, the buffer too small, or
    // 2^31 packets were sent, and the session must end (RFC 3711 §9.2).
    size_t protect_rtcp(std::span<uint8_t> buffer, size_t size);

  private:
    void start_rtp();
    void seal_gcm(const RtpPieces& pieces, uint64_t index, uint8_t* out);
    void seal_counter(const RtpPieces& pieces, uint64_t index, uint8_t* out);

    ControlCipher& control_;
    ControlKey rtcp_;
    uint32_t next_rtcp_index_ = 1;  // as libsrtp2 counts
    MasterKey master_;
    std::optional<Aes> aes_;  // of RTP, keyed
    std::array<uint8_t, kMaxSaltSize> salt_{};
    HmacSha1 mac_;
};

}  // namespace weir::srtp
