// What hook servers are sent: the facts of a client, of its end, and the JSON of both. The names of
// the fields are those that hook servers made for SRS expect; doc/hooks.md has the list. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "net/api/answer.h"
#include "net/hooks.h"

namespace weir::app {

// Longer texts of a client are cut.
inline constexpr size_t kMaxHookText = 1024;
inline constexpr size_t kMaxHookParam = 8 * 1024;

// Of a client and what it asked for: the same in the question and in the word of its end.
struct HookFacts {
    HookFacts() = default;
    HookFacts(std::string_view id,
              std::string_view address,
              const char* way,
              const net::HookRequestView& what);

    net::HookAction action = net::HookAction::kPlay;  // of the question
    const char* transport = "";                       // as net::Client::transport()
    std::string client_id;
    std::string ip;
    std::string vhost;
    std::string app;
    std::string stream;
    std::string param;
    std::string tc_url;
    std::string page_url;
    std::string call;  // of calls, as the other three
    std::string from;
    std::string to;
    std::string user;
    std::string folder;  // of recordings and of segments: as what follows
    std::string file;
    std::string format;
    std::string record_reason;
    int64_t started_ms = 0;
    uint64_t frames = 0;
    bool repaired = false;
    std::string url;  // of segments, as what follows
    std::string playlist;
    std::string playlist_url;
    uint64_t number = 0;

    // What it holds besides itself.
    size_t bytes() const;
};

struct HookEnd {
    uint64_t send_bytes = 0;  // by us
    uint64_t recv_bytes = 0;
    Millis duration{0};
    net::EndClass why = net::EndClass::kError;
    std::string detail;
};

// One event: a question when `end` is null.
struct HookEventView {
    net::HookAction action;
    const HookFacts& facts;
    const HookEnd* end = nullptr;
    std::string_view event_id;
    int64_t time_ms = 0;  // when it happened, since 1970
};

std::string hook_body(const net::ServerIdentity& identity, const HookEventView& event);

// What ends what was asked for: kPublish to kUnpublish.
net::HookAction closing_of(net::HookAction action);

// The value of X-Weir-Signature: "sha256=" and the HMAC, in hex, of "TIMESTAMP.BODY".
std::string hook_signature(std::string_view secret,
                           std::string_view timestamp,
                           std::string_view body);

}  // namespace weir::app
