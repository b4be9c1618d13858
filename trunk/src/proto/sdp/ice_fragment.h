// The application/trickle-ice-sdpfrag bodies of PATCH (RFC 8840 §9, RFC 9725 §4.3): candidates that
// come after the offer, or new credentials for an ICE restart, and our answer to one.
//
// There is one transport, so that the sections of a fragment are one: parse() takes the candidates
// of all of them and the credentials that come first; write() makes one section.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "proto/sdp/negotiate.h"

namespace weir::sdp {

struct IceFragment {
    bool ice_lite = false;
    bool trickle = false;             // a=ice-options:trickle
    std::vector<std::string> bundle;  // mids of a=group:BUNDLE; empty: no such line
    std::string ice_ufrag;            // empty: not said
    std::string ice_pwd;
    std::string media_line;  // of the first section: "audio 9 UDP/TLS/RTP/SAVPF 111"; may be empty
    std::string mid;
    std::vector<std::string> candidates;  // the text after "candidate:"
    bool end_of_candidates = false;

    bool operator==(const IceFragment&) const = default;

    // kMalformed (also for a fragment that says nothing) or kLimit, with the number of the line.
    static Result<IceFragment> parse(std::string_view text);

    std::string write() const;
};

// Our answer to a restart (RFC 9725 §4.3.3): the request's section with our new credentials and all
// of our candidates. Nothing of the first answer need be kept for it.
IceFragment answer_restart(const IceFragment& request, const LocalTransport& local);

}  // namespace weir::sdp
