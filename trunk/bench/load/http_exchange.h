// One HTTP request and its whole answer, on a connection of its own.
#pragma once

#include <string>

#include "io/deadline.h"
#include "io/tcp.h"

#include "bench/load/core/rtc_signalling.h"

namespace weir::load {

// Yields. The request must ask the server to close. kTimeout, kInterrupted, kSystem, kMalformed,
// kLimit: the answer is larger than 256 KiB.
Result<HttpAnswer> http_exchange(const io::SocketAddress& server,
                                 const std::string& request,
                                 io::Deadline deadline,
                                 const io::SocketAddress* from = nullptr);

}  // namespace weir::load
