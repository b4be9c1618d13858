// At which addresses WebRTC clients are told to reach this server: environment, configuration, or
// nothing (then the addresses of the interfaces). Pure.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/net_address.h"

namespace weir::session {

struct RtcCandidates {
    std::vector<NetAddress> addresses;  // empty: the interfaces'
    std::string_view source;            // a literal, for the log
};

// `weir_candidate` and `candidate`: those environment variables, null where they are not set. The
// first goes before the configuration; the second, a name that other software uses too, counts
// where that has nothing. Numeric addresses between blanks or commas, each with or without a port;
// "*" means the interfaces. kMalformed names the variable and the word.
Result<RtcCandidates> choose_candidates(const std::vector<NetAddress>& configured,
                                        const char* weir_candidate,
                                        const char* candidate);

}  // namespace weir::session
