// EndClass: why a client left, as one word of few for programs: in the log, as a label of /metrics,
// and for hook servers. What exactly happened stands beside it in words, the detail.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace weir::net {

enum class EndClass : uint8_t {
    kPeerClosed,   // it went, or its connection did
    kKicked,       // by the API
    kTimeout,      // it said nothing for too long
    kRefused,      // by rules, limits or a busy name
    kStalled,      // it took nothing for too long
    kNoPublisher,  // nobody published what it plays
    kReplaced,     // another publisher took the stream over, or other codecs came
    kError,        // broken protocol, failed socket
    kStopping,     // the server stops
};

inline constexpr size_t kEndClasses = 9;

// "peer_closed", "kicked" ...
std::string_view to_string(EndClass why);

// Of a conversation that ended with this error.
EndClass end_class(ErrorCode code);

}  // namespace weir::net
