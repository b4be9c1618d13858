// A description of a phone, passed on: what comes out can be read again, and names no address but
// the relay's.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "proto/sdp/phone.h"
#include "proto/sdp/phone_relay.h"

namespace sdp = weir::sdp;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const weir::NetAddress address = *weir::NetAddress::parse_ip("192.0.2.1", 0);
    const auto relayed = sdp::relay_phone_description(text, address, {20'000, 20'002});
    if (!relayed.ok()) {
        return 0;
    }
    const auto read = sdp::read_phone_description(*relayed);
    if (!read.ok()) {
        return 0;  // the added lines may go over a limit
    }
    for (const sdp::PhoneMedia& media : read->media) {
        WEIR_CHECK(media.rejected || media.to.empty() || media.to.same_ip(address));
    }
    return 0;
}
