#include "net/rtp/rtp_sealer.h"

#include <cstring>

namespace weir::net {

RtpBurst PlainRtpSealer::seal(MonoTime,
                              const RtpRunHeader& first,
                              const stream::RtpRun& run,
                              std::span<uint8_t> out) {
    return seal_run(
        first, run, out,
        [](const rtp::Header& header, ByteSpan payload, uint64_t, std::span<uint8_t> to) -> size_t {
            const size_t size = rtp::kFixedHeaderSize + payload.size();
            if (to.size() < size) {
                return 0;
            }
            rtp::write_header(header, to.data());
            std::memcpy(to.data() + rtp::kFixedHeaderSize, payload.data(), payload.size());
            return size;
        });
}

}  // namespace weir::net
