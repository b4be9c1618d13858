#include "net/api/answer.h"

#include <unistd.h>

namespace weir::net {

Json envelope(const ServerIdentity& identity) {
    return {{"code", 0},
            {"server", identity.server},
            {"service", identity.service},
            {"pid", std::to_string(getpid())}};
}

std::string dumped(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json parsed(std::string_view text, int most_depth) {
    // The parser takes it as the end of its input, and JSON has none (RFC 8259 §7).
    if (text.find('\0') != std::string_view::npos) {
        return {};
    }
    bool too_deep = false;
    Json body = Json::parse(
        text,
        [&](int depth, Json::parse_event_t, Json&) {
            too_deep = too_deep || depth > most_depth;
            return !too_deep;
        },
        false);
    return too_deep || body.is_discarded() ? Json() : body;
}

void answer(HttpExchange& exchange, const Json& body) {
    (void)exchange.respond(200, "application/json", dumped(body) + "\n");
}

}  // namespace weir::net
