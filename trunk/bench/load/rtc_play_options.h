// Options that only WebRTC players have.
#pragma once

#include <cstdint>
#include <string>

namespace weir::load {

struct RtcPlayRunOptions {
    bool nack = true;
    bool transport_cc = true;
    uint32_t drop_per_mille = 0;   // media packets thrown away unseen
    std::string token;             // Authorization: Bearer; empty: none
    std::string leave = "delete";  // or "close", "vanish"
    std::string halt;              // "created", "ice": how far players go; empty: all the way
};

}  // namespace weir::load
