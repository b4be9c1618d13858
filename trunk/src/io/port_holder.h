// Private to io/: who listens on a TCP port, from /proc. Reads many small files: for error messages
// only.
#pragma once

#include <cstdint>
#include <string>

namespace weir::io {

// "held by process 1234 (nginx)"; empty when it cannot be found out (another user's process,
// another container).
std::string describe_port_holder(uint16_t port);

}  // namespace weir::io
