// Where the answer to a request goes, and how long it may be. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "proto/sip/flow.h"
#include "proto/sip/message.h"
#include "proto/sip/via.h"

namespace weir::sip {

// Notes in the newest Via where the request really came from (RFC 3261 §18.2.1, RFC 3581 §4).
void note_source(Via& via, const Flow& flow);

// Where the answer goes (RFC 3261 §18.2.2): the address that the request came from, in any case.
// `via`: the newest, after note_source().
Flow answer_flow(const Via& via, Flow flow);

// Written without the fields that the peer can do without, as far as `room` (bytes) is too little
// for them: Server, Accept, Supported, Allow, and the second of two challenges. The result may be
// longer than `room` all the same.
std::string write_within(Response response, uint64_t room);

}  // namespace weir::sip
