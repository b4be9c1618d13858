// The port that a page names in addresses of a protocol.
#pragma once

#include <cstdint>
#include <span>

#include "config/config.h"

namespace weir::app {

// Of the first of these listeners that speaks without TLS and stands behind no proxy; 0: there is
// none.
uint16_t shown_port(std::span<const config::ListenAddress> listeners);

}  // namespace weir::app
