// http_hooks { }.
#include "config/directive_tables.h"

namespace weir::config {
namespace {

using net::HookAction;

// The first of a block replaces what is inherited, the others add to it.
template <HookAction kAction>
void add_urls(const Target& target, const Value& value) {
    std::vector<http::Url>& list = target.vhost.http_hooks.urls[static_cast<size_t>(kAction)];
    if (target.first) {
        list.clear();
    }
    list.insert(list.end(), value.urls.begin(), value.urls.end());
}

constexpr std::string_view kExample = "http://127.0.0.1:8085/hooks";

const Directive kHookDirectives[] = {
    {.name = "http_hooks",
     .contexts = kStreamContexts,
     .opens = kHooksContext,
     .doc = "HTTP servers that are asked whether a client may connect, publish or play, and told "
            "when it ends, by POST of JSON (doc/hooks.md)."},
    {.name = "enabled",
     .contexts = kHooksContext,
     .type = ValueType::kFlag,
     .default_text = "on",
     .doc = "off asks and tells nobody, also where URLs are given.",
     .apply = [](const Target& t, const Value& v) { t.vhost.http_hooks.enabled = v.number != 0; }},
    {.name = "on_connect",
     .contexts = kHooksContext,
     .type = ValueType::kUrl,
     .repeatable = true,
     .example = kExample,
     .doc = "Asked when an RTMP client connects. Several URLs are asked one after another, and "
            "all have to allow.",
     .apply = add_urls<HookAction::kConnect>},
    {.name = "on_close",
     .contexts = kHooksContext,
     .type = ValueType::kUrl,
     .repeatable = true,
     .example = kExample,
     .doc = "Told when such a connection ends.",
     .apply = add_urls<HookAction::kClose>},
    {.name = "on_publish",
     .contexts = kHooksContext,
     .type = ValueType::kUrl,
     .repeatable = true,
     .example = kExample,
     .doc = "Asked when a client wants to publish, by any protocol.",
     .apply = add_urls<HookAction::kPublish>},
    {.name = "on_unpublish",
     .contexts = kHooksContext,
     .type = ValueType::kUrl,
     .repeatable = true,
     .example = kExample,
     .doc = "Told when an allowed publisher ends.",
     .apply = add_urls<HookAction::kUnpublish>},
    {.name = "on_play",
     .contexts = kHooksContext,
     .type = ValueType::kUrl,
     .repeatable = true,
     .example = kExample,
     .doc = "Asked when a client wants to play, by any protocol.",
     .apply = add_urls<HookAction::kPlay>},
    {.name = "on_stop",
     .contexts = kHooksContext,
     .type = ValueType::kUrl,
     .repeatable = true,
     .example = kExample,
     .doc = "Told when an allowed player ends.",
     .apply = add_urls<HookAction::kStop>},
    {.name = "timeout",
     .contexts = kHooksContext,
     .type = ValueType::kDuration,
     .default_text = "5s",
     .min = 100,
     .max = kMinute,
     .unit = kSecond,
     .doc = "How long a client is kept waiting for all answers to one question, and how long one "
            "attempt to tell may take.",
     .apply = [](const Target& t, const Value& v) { t.vhost.http_hooks.timeout = millis(v); }},
    {.name = "retry",
     .contexts = kHooksContext,
     .type = ValueType::kDuration,
     .default_text = "1m",
     .min = 0,
     .max = kHour,
     .unit = kSecond,
     .doc = "For so long on_close, on_unpublish and on_stop are sent again, at growing intervals "
            "and with the same event_id, until a server takes them. 0: they are sent once.",
     .apply = [](const Target& t, const Value& v) { t.vhost.http_hooks.retry = millis(v); }},
    {.name = "on_error",
     .contexts = kHooksContext,
     .type = ValueType::kChoice,
     .default_text = "refuse",
     .choices = "refuse|allow",
     .doc = "What becomes of a client when the server that has to be asked cannot be reached, "
            "gives no answer in time, or none that can be understood.",
     .apply = [](const Target& t,
                 const Value& v) { t.vhost.http_hooks.allow_on_error = v.number == 1; }},
    {.name = "secret",
     .contexts = kHooksContext,
     .type = ValueType::kSharedSecret,
     .secret_from = 0,
     .example = "file:/run/secrets/hooks",
     .doc = "Signs what is sent, in the field X-Weir-Signature, so that the server can tell who "
            "sent it (doc/hooks.md). file:PATH reads it from the first line of a file, anew when "
            "it changes.",
     .apply = [](const Target& t,
                 const Value& v) { t.vhost.http_hooks.secret = v.secrets.front(); }},
};

}  // namespace

std::span<const Directive> hook_directives() {
    return kHookDirectives;
}

}  // namespace weir::config
