#include "app/hooks/hook_event.h"

#include <array>

#include "app/api/stream_json.h"
#include "base/hmac.h"
#include "base/strings.h"

namespace weir::app {

using net::HookAction;

HookFacts::HookFacts(std::string_view id,
                     std::string_view address,
                     const char* way,
                     const net::HookRequestView& what)
    : action(what.action),
      transport(way),
      client_id(id),
      ip(address),
      vhost(what.vhost.substr(0, kMaxHookText)),
      app(what.app.substr(0, kMaxHookText)),
      stream(what.stream.substr(0, kMaxHookText)),
      param(what.param.substr(0, kMaxHookParam)),
      tc_url(what.tc_url.substr(0, kMaxHookText)),
      page_url(what.page_url.substr(0, kMaxHookText)),
      call(what.call.substr(0, kMaxHookText)),
      from(what.from.substr(0, kMaxHookText)),
      to(what.to.substr(0, kMaxHookText)),
      user(what.user.substr(0, kMaxHookText)) {}

size_t HookFacts::bytes() const {
    size_t sum = 0;
    for (const std::string* each :
         {&client_id, &ip, &vhost, &app, &stream, &param, &tc_url, &page_url, &call, &from, &to,
          &user, &folder, &file, &format, &record_reason, &url, &playlist, &playlist_url}) {
        sum += each->capacity();
    }
    return sum;
}

HookAction closing_of(HookAction action) {
    switch (action) {
        case HookAction::kConnect: return HookAction::kClose;
        case HookAction::kPublish: return HookAction::kUnpublish;
        case HookAction::kCall: return HookAction::kCallEnd;
        case HookAction::kRecord:
        case HookAction::kDvr:
        case HookAction::kHls: return action;  // an event without a beginning
        default: return HookAction::kStop;
    }
}

std::string hook_body(const net::ServerIdentity& identity, const HookEventView& event) {
    const HookFacts& facts = event.facts;
    net::Json body = {{"server_id", identity.server},
                      {"service_id", identity.service},
                      {"action", net::to_string(event.action)},
                      {"event_id", event.event_id},
                      {"time_ms", event.time_ms},
                      {"client_id", facts.client_id},
                      {"ip", facts.ip},
                      {"vhost", facts.vhost},
                      {"app", facts.app},
                      {"tcUrl", facts.tc_url},
                      {"param", facts.param.empty() ? "" : "?" + facts.param},
                      {"pageUrl", facts.page_url},
                      {"transport", facts.transport}};
    if (facts.action == HookAction::kCall) {
        body["call_id"] = facts.call;
        body["from"] = facts.from;
        body["to"] = facts.to;
        body["user"] = facts.user;
    }
    const bool has_stream = facts.action != HookAction::kConnect &&
                            (facts.action != HookAction::kCall || !facts.stream.empty());
    if (has_stream) {
        const stream::StreamKey key{facts.vhost, facts.app, facts.stream};
        body["stream"] = facts.stream;
        body["stream_url"] = key.to_string();
        body["stream_id"] = stream_id(key);
    }
    if (facts.action == HookAction::kRecord || facts.action == HookAction::kDvr) {
        body["cwd"] = facts.folder;
        body["file"] = facts.file;
        body["format"] = facts.format;
        body["started_ms"] = facts.started_ms;
        body["duration_ms"] = event.end->duration.count();
        body["bytes"] = event.end->recv_bytes;
        body["frames"] = facts.frames;
        body["repaired"] = facts.repaired;
        body["reason"] = facts.record_reason;
    } else if (facts.action == HookAction::kHls) {
        body["cwd"] = facts.folder;
        body["file"] = facts.file;
        body["url"] = facts.url;
        body["m3u8"] = facts.playlist;
        body["m3u8_url"] = facts.playlist_url;
        body["duration"] = static_cast<double>(event.end->duration.count()) / 1000.0;
        body["seq_no"] = facts.number;
    } else if (const HookEnd* end = event.end) {
        body["send_bytes"] = end->send_bytes;
        body["recv_bytes"] = end->recv_bytes;
        body["bytes"] = facts.action == HookAction::kPublish ? end->recv_bytes
                        : facts.action == HookAction::kPlay  ? end->send_bytes
                                                             : end->recv_bytes + end->send_bytes;
        body["duration_ms"] = end->duration.count();
        body["reason"] = net::to_string(end->why);
        body["reason_text"] = end->detail;
    }
    return net::dumped(body);
}

std::string hook_signature(std::string_view secret,
                           std::string_view timestamp,
                           std::string_view body) {
    const Sha256Digest digest =
        hmac_sha256(as_bytes(secret), as_bytes(fmt::format("{}.", timestamp)), as_bytes(body));
    return "sha256=" + hex(digest);
}

}  // namespace weir::app
