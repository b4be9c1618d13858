// Clients as JSON objects of the API.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/clock.h"
#include "net/client_table.h"

namespace weir::app {

// Asks the kernel about the client's TCP connection: one system call.
nlohmann::ordered_json client_json(const net::Client& client, MonoTime now);

}  // namespace weir::app
