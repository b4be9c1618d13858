// http_server { } and http_api { }.
#include <array>

#include "config/directive_tables.h"

namespace weir::config {
namespace {

const Directive kHttpDirectives[] = {
    {.name = "http_server",
     .opens = kHttpServerContext,
     .doc = "Pages, HTTP-FLV, HTTP-TS and both by WebSocket."},
    {.name = "enabled",
     .contexts = kHttpServerContext,
     .type = ValueType::kFlag,
     .default_text = "on",
     .doc = "Turns the HTTP server for media and pages on or off.",
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
    {.name = "stream_list",
     .contexts = kHttpServerContext,
     .type = ValueType::kChoice,
     .default_text = "open",
     .choices = "all|open|none",
     .doc = "Which streams /live.json and the page of this server name: all; open: those "
            "that the client may play without a key and without asking a hook server; or "
            "none. The console of the API shows all.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.http_server.stream_list = static_cast<StreamList>(v.number);
         }},
    {.name = "frame_ancestors",
     .contexts = kHttpServerContext,
     .type = ValueType::kFrames,
     .default_text = "self",
     .repeatable = true,
     .doc = "Pages that may show the pages of this server in a frame: self: pages of this "
            "server; https://example.org or https://*.example.org for sites that embed the "
            "player; none. Sent as Content-Security-Policy.",
     .apply =
         [](const Target& t, const Value& v) {
             std::vector<std::string>& list = t.config.http_server.frame_ancestors;
             if (t.first) {
                 list.clear();
             }
             list.insert(list.end(), v.words.begin(), v.words.end());
         }},
    {.name = "hsts",
     .contexts = kHttpServerContext,
     .type = ValueType::kChoice,
     .default_text = "auto",
     .choices = "auto|off|1d|30d|1y|2y",
     .doc = "How long browsers that came over HTTPS use only HTTPS for this name, on all of "
            "its ports (Strict-Transport-Security). auto: 1d if the network can reach only "
            "HTTPS, and HTTP on port 80; otherwise off, since browsers could no longer reach "
            "pages on other ports without TLS. Never sent for addresses, localhost and names "
            "without a dot.",
     .apply =
         [](const Target& t, const Value& v) {
             constexpr std::array<uint64_t, 6> kDays{0, 0, 1, 30, 365, 730};
             constexpr uint64_t kDay = 24 * kHour;
             t.config.http_server.hsts.is_auto = v.number == 0;
             t.config.http_server.hsts.max_age = Millis(kDays.at(v.number) * kDay);
         }},

    {.name = "http_api",
     .opens = kHttpApiContext,
     .doc = "HTTP API and /metrics. Whoever reaches it can end any stream, so it listens on "
            "loopback."},
    {.name = "enabled",
     .contexts = kHttpApiContext,
     .type = ValueType::kFlag,
     .default_text = "on",
     .doc = "Turns the API on or off.",
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

}  // namespace weir::config
