// A phone's description as a relay of media passes it on: codecs, keys and directions as they came,
// addresses and ports of the relay instead of the phone's. Pure.
//
// ICE is taken out, since the relay is not a candidate of it; keys of SRTP and DTLS stay, so that
// both phones encrypt from end to end. One audio and one video section at most go on; others get
// port 0 and keep their place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/net_address.h"

namespace weir::sdp {

struct RelayPorts {
    uint16_t audio = 0;  // 0: none of the kind goes on
    uint16_t video = 0;
};

// kMalformed, kLimit: as read_phone_description() says.
Result<std::string> relay_phone_description(std::string_view text,
                                            const NetAddress& address,
                                            const RelayPorts& ports);

}  // namespace weir::sdp
