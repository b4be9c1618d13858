// Cross-origin answers (Fetch standard) for media and static paths, so that players on other sites
// work. Open to every origin, without credentials. Pure functions.
#pragma once

#include "proto/http/fields.h"
#include "proto/http/request.h"

namespace weir::http {

// True for an OPTIONS request with Origin and Access-Control-Request-Method.
bool is_cors_preflight(const Request& request);

// Fields of the answer to a preflight: allowed methods (those of `methods`), the headers asked for,
// one day of caching, and Access-Control-Allow-Private-Network when that is asked for.
Fields cors_preflight_fields(const Request& request, uint32_t methods);

// Fields of every other answer.
Fields cors_fields();

// "GET, HEAD, OPTIONS" of a set of method_bit()s.
std::string allow_text(uint32_t methods);

}  // namespace weir::http
