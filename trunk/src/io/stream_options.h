// StreamOptions: what can be set at a TcpStream.
#pragma once

#include "base/clock.h"

namespace weir::io {

struct StreamOptions {
    int send_buffer_bytes = 0;    // SO_SNDBUF; 0 leaves the kernel's auto-tuning
    int notsent_lowat_bytes = 0;  // TCP_NOTSENT_LOWAT; 0 leaves it off
    Millis user_timeout{0};       // TCP_USER_TIMEOUT; 0 leaves it off
};

}  // namespace weir::io
