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
     .doc = "off sends nothing, even if URLs are given.",
     .apply = [](const Target& t, const Value& v) { t.vhost.http_hooks.enabled = v.number != 0; }},
    {.name = "on_connect",
     .contexts = kHooksContext,
     .type = ValueType::kUrl,
     .repeatable = true,
     .example = kExample,
     .doc = "Asked when an RTMP client connects. Several URLs are asked one after another, "
            "and all must allow.",
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
     .doc = "Asked when a client wants to publish, over any protocol.",
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
     .doc = "Asked when a client wants to play, over any protocol.",
     .apply = add_urls<HookAction::kPlay>},
    {.name = "on_stop",
     .contexts = kHooksContext,
     .type = ValueType::kUrl,
     .repeatable = true,
     .example = kExample,
     .doc = "Told when an allowed player ends.",
     .apply = add_urls<HookAction::kStop>},
    {.name = "on_call",
     .contexts = kHooksContext,
     .type = ValueType::kUrl,
     .repeatable = true,
     .example = kExample,
     .doc = "Asked when a telephone calls (SIP), before it is answered.",
     .apply = add_urls<HookAction::kCall>},
    {.name = "on_call_end",
     .contexts = kHooksContext,
     .type = ValueType::kUrl,
     .repeatable = true,
     .example = kExample,
     .doc = "Told when an allowed call ends.",
     .apply = add_urls<HookAction::kCallEnd>},
    {.name = "on_record",
     .contexts = kHooksContext,
     .type = ValueType::kUrl,
     .repeatable = true,
     .example = kExample,
     .doc = "Told when a recording is finished (record).",
     .apply = add_urls<HookAction::kRecord>},
    {.name = "on_dvr",
     .contexts = kHooksContext,
     .type = ValueType::kUrl,
     .repeatable = true,
     .example = kExample,
     .doc = "The same, with the action on_dvr, for servers that were made for SRS.",
     .apply = add_urls<HookAction::kDvr>},
    {.name = "on_hls",
     .contexts = kHooksContext,
     .type = ValueType::kUrl,
     .repeatable = true,
     .example = kExample,
     .doc = "Told when a segment of HLS is on the disk; only where hls { path; } says so.",
     .apply = add_urls<HookAction::kHls>},
    {.name = "timeout",
     .contexts = kHooksContext,
     .type = ValueType::kDuration,
     .default_text = "5s",
     .min = 100,
     .max = kMinute,
     .unit = kSecond,
     .doc = "How long a client waits at most for all answers to one question, and how long "
            "one attempt to send a report may take.",
     .apply = [](const Target& t, const Value& v) { t.vhost.http_hooks.timeout = millis(v); }},
    {.name = "retry",
     .contexts = kHooksContext,
     .type = ValueType::kDuration,
     .default_text = "1m",
     .min = 0,
     .max = kHour,
     .unit = kSecond,
     .doc = "How long on_close, on_unpublish, on_stop, on_call_end, on_record and on_hls are sent "
            "again, at growing intervals and with the same event_id, until a server accepts them. "
            "0: they are sent once.",
     .apply = [](const Target& t, const Value& v) { t.vhost.http_hooks.retry = millis(v); }},
    {.name = "on_error",
     .contexts = kHooksContext,
     .type = ValueType::kChoice,
     .default_text = "refuse",
     .choices = "refuse|allow",
     .doc = "What happens to a client when the hook server cannot be reached, or gives no "
            "valid answer in time.",
     .apply = [](const Target& t,
                 const Value& v) { t.vhost.http_hooks.allow_on_error = v.number == 1; }},
    {.name = "secret",
     .contexts = kHooksContext,
     .type = ValueType::kSharedSecret,
     .secret_from = 0,
     .example = "file:/run/secrets/hooks",
     .doc = "Signs each request, in the field X-Weir-Signature, so that the hook server can "
            "verify the sender (doc/hooks.md). file:PATH reads it from the first line of a "
            "file, and again when it changes.",
     .apply = [](const Target& t,
                 const Value& v) { t.vhost.http_hooks.secret = v.secrets.front(); }},
};

}  // namespace

std::span<const Directive> hook_directives() {
    return kHookDirectives;
}

}  // namespace weir::config
