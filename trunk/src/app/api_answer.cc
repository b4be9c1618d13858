#include "app/api_answer.h"

#include <unistd.h>

namespace weir::app {

Json envelope(const ServerIdentity& identity) {
    return {{"code", 0},
            {"server", identity.server},
            {"service", identity.service},
            {"pid", std::to_string(getpid())}};
}

std::string dumped(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void answer(net::HttpExchange& exchange, const Json& body) {
    (void)exchange.respond(200, "application/json", dumped(body) + "\n");
}

}  // namespace weir::app
