// Where a client found this server.
#pragma once

#include <string>

#include "net/http/exchange.h"

namespace weir::net {

// Scheme and authority of the request: "https://live.example:8443"; through a trusted proxy, as
// that says. Not after detach().
std::string origin_of(HttpExchange& exchange);

// Whether the client may know the server by another origin: a proxy that is not trusted, or one
// that speaks HTTP/1.0 to us, need not pass on scheme and authority.
bool may_hide_origin(const HttpExchange& exchange);

}  // namespace weir::net
