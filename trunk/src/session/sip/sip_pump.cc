#include "session/sip/sip_pump.h"

#include <algorithm>
#include <span>
#include <vector>

namespace weir::session {

const net::PumpKind& SipPump::kind(const sdp::PhoneCodec& audio) {
    const std::span<const sdp::PhoneCodec> codecs = sip_audio_codecs();
    static const auto kinds = [codecs] {
        std::vector<net::PumpKind> made(codecs.size() + 1);
        for (net::PumpKind& each : made) {
            each = {&each, "sip", "sip pump"};
        }
        return made;
    }();
    const auto found = std::ranges::find_if(codecs, [&](const sdp::PhoneCodec& each) {
        return each.codec == audio.codec && each.clock_hz == audio.clock_hz;
    });
    return kinds[static_cast<size_t>(found - codecs.begin())];
}

}  // namespace weir::session
