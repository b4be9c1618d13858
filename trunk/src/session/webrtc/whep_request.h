// The requests of a WHEP client (draft-ietf-wish-whep). Pure.
#pragma once

#include <string>
#include <string_view>

#include "net/source/source_url.h"

namespace weir::session {

// Whole requests, to be sent as they are; the server closes after the answer. With the login of
// the URL, where it has one: user and password as Basic, a password alone as Bearer (RFC 6750), as
// nobody asks for them first.
std::string whep_post(const net::SourceUrl& endpoint, std::string_view offer);
std::string whep_delete(const net::SourceUrl& session);

}  // namespace weir::session
