// GET /api/v1/plant?what=NAME: does something that a diagnosis tool must find, in a coroutine. Only
// in builds with --plants=on; everywhere else add_plants() does nothing and the path is unknown.
//
// The functions that do it are named plant_NAME, so that a report can be checked for the name.
#pragma once

#include "base/plant.h"
#include "net/api/answer.h"
#include "net/http/router.h"

namespace weir::app {

#if WEIR_PLANTS
// The identity is copied.
void add_plants(net::HttpRouter& router, const net::ServerIdentity& identity);
#else
inline void add_plants(net::HttpRouter&, const net::ServerIdentity&) {}
#endif

}  // namespace weir::app
