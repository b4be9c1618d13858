// Who makes an offer, and what is answered.
#pragma once

#include <memory>
#include <string>

#include "base/net_address.h"
#include "net/client_table.h"
#include "net/limits.h"

namespace weir::session {

// What the peer is answered.
struct RtcAnswer {
    std::string session_id;
    std::string sdp;
    std::string etag;  // of the ICE session, for PATCH
};

// Who offers.
struct RtcGuest {
    std::unique_ptr<net::Client> client;  // its key is set
    NetAddress reached_at;  // our address that it used for signalling, one more candidate
    net::Limits::AddressPlace unproven;  // enter_unproven(), until it has connected
};

}  // namespace weir::session
