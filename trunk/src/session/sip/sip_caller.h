// Who calls this server, as far as its INVITE says, and the refusal of a call: plain values.
#pragma once

#include <string>

#include "net/places.h"
#include "proto/http/fields.h"

namespace weir::session {

struct SipCaller {
    std::string user;   // has shown its password; empty: an address of `trunk` or `register`
    std::string trunk;  // the registration that it came by; empty: none
    // It is at the address that the INVITE came from: a nonce came back from there, or it is a
    // connection. Else until the ACK it holds a place among the unproven calls of its address.
    bool proven = false;
    net::AddressPlace place;
};

struct SipRefusal {
    int status = 0;  // of SIP; 0: it is no refusal
    std::string why;
    http::Fields headers = {};
};

}  // namespace weir::session
