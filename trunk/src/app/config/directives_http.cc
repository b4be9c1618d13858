// http_server { } and http_api { }.
#include "app/config/directive_tables.h"

namespace weir::app {
namespace {

const Directive kHttpDirectives[] = {
    {.name = "http_server",
     .opens = kHttpServerContext,
     .doc = "Pages, HTTP-FLV and WebSocket-FLV."},
    {.name = "enabled",
     .contexts = kHttpServerContext,
     .type = ValueType::kFlag,
     .default_text = "on",
     .doc = "Whether there is an HTTP server for media and pages.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.http_server.enabled = v.number != 0; }},
    {.name = "listen",
     .contexts = kHttpServerContext,
     .type = ValueType::kListen,
     .default_text = "8080",
     .repeatable = true,
     .doc = "Addresses for media and pages.",
     .apply = [](const Target& t,
                 const Value& v) { add_listeners(t.config.http_server.listen, t, v); }},
    {.name = "dir",
     .contexts = kHttpServerContext,
     .type = ValueType::kPath,
     .default_text = "../objs/www",
     .doc = "Folder of the static files.",
     .apply = [](const Target& t, const Value& v) { t.config.http_server.dir = v.text; }},

    {.name = "http_api",
     .opens = kHttpApiContext,
     .doc = "HTTP API and /metrics. Whoever reaches it can end any stream, so it listens on "
            "loopback."},
    {.name = "enabled",
     .contexts = kHttpApiContext,
     .type = ValueType::kFlag,
     .default_text = "on",
     .doc = "Whether there is an API.",
     .apply = [](const Target& t, const Value& v) { t.config.http_api.enabled = v.number != 0; }},
    {.name = "listen",
     .contexts = kHttpApiContext,
     .type = ValueType::kListen,
     .default_text = "127.0.0.1:1985",
     .repeatable = true,
     .doc = "Addresses for the API and /metrics.",
     .apply = [](const Target& t,
                 const Value& v) { add_listeners(t.config.http_api.listen, t, v); }},
};

}  // namespace

std::span<const Directive> http_directives() {
    return kHttpDirectives;
}

}  // namespace weir::app
