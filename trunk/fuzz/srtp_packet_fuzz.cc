// SRTP and SRTCP: our opener and libsrtp2 say the same about any packet, and what we protect both
// open again. Input: a byte for the profile, then commands: kind, a bit to flip (or 0), length,
// that many bytes.
#include <algorithm>
#include <optional>

#include "base/check.h"
#include "proto/srtp/protector.h"
#include "proto/srtp/rtcp_unprotector.h"
#include "proto/srtp/unprotector.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data,
                                      size_t size);  // NOLINT(readability-identifier-naming)

namespace weir::srtp {
namespace {

constexpr size_t kMaxCommands =
    RtcpUnprotector::kMaxSources;  // the two bound SSRCs by different numbers

void run(ByteSpan input) {
    ByteReader reader(input);
    const Profile profile =
        reader.u8() % 2 == 0 ? Profile::kAeadAes128Gcm : Profile::kAes128CmSha1_80;
    ControlCipher control;
    Protector protector(profile, {}, control);
    RtcpUnprotector ours(profile, {}, control);
    const auto theirs = *Unprotector::create(profile, {});
    for (size_t i = 0; i < kMaxCommands && !reader.empty(); i++) {
        const uint8_t kind = reader.u8(), flip = reader.u8();
        const ByteSpan plain = reader.take(std::min<size_t>(reader.u16(), reader.remaining()));
        Bytes packet(plain.begin(), plain.end());
        packet.resize(plain.size() + kMaxOverhead);
        const bool rtp = (kind & 2) != 0;
        const uint64_t index = plain.size() < 4 ? 0 : uint64_t{plain[2]} << 8 | plain[3];
        size_t sealed = plain.size();
        if ((kind & 1) != 0) {
            sealed = rtp ? protector.protect_rtp(packet, plain.size(), index)
                         : protector.protect_rtcp(packet, plain.size());
        }
        packet.resize(sealed);
        if (flip != 0 && !packet.empty()) {
            packet[flip % packet.size()] ^= static_cast<uint8_t>(1 << flip % 8);
        }
        Bytes copy = packet;
        const Unprotected b = rtp ? theirs->unprotect_rtp(copy) : theirs->unprotect_rtcp(copy);
        WEIR_CHECK(!b.ok() || ((kind & 1) != 0 && flip == 0 &&
                               std::equal(plain.begin(), plain.end(), copy.begin())));
        if (!rtp) {
            const Unprotected a = ours.unprotect(packet);
            WEIR_CHECK(a.ok() == b.ok() && a.size == b.size);
            WEIR_CHECK(!a.ok() || std::equal(plain.begin(), plain.end(), packet.begin()));
        }
    }
}

}  // namespace
}  // namespace weir::srtp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    weir::srtp::run({data, size});
    return 0;
}
