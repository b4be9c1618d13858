// Hooks: HTTP servers of the operator that are asked before a client may connect, publish or play,
// and told when it ends. What sessions need of them; app/hooks/ has the rest.
//
// Where nothing is configured wants() says so, and a session goes on without asking.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "net/hook_action.h"
#include "net/hook_ticket.h"
#include "stream/stream_key.h"

namespace weir::io {
class TcpStream;
}

namespace weir::net {

class Client;

// What a client asks for. The views have to live until ask() returns.
struct HookRequestView {
    HookAction action = HookAction::kPlay;  // kConnect, kPublish, kPlay or kCall
    std::string_view vhost;                 // as configured (StreamKey::vhost)
    std::string_view app;
    std::string_view stream;  // empty for kConnect, and for calls to a phone
    std::string_view param;   // the query of its address, without '?'; holds the client's key
    std::string_view tc_url;  // RTMP, or the address of the stream
    std::string_view page_url;
    // Of kCall.
    std::string_view call = {};  // its Call-ID
    std::string_view from = {};  // URIs
    std::string_view to = {};
    std::string_view user = {};  // who has shown a password, or the trunk that it comes by
};

// A file that was recorded. The views have to live until tell_record() returns.
struct RecordEventView {
    std::string_view vhost;
    std::string_view app;
    std::string_view stream;
    std::string_view folder;
    std::string_view file;  // within it
    std::string_view format;
    std::string_view reason;
    int64_t started_ms = 0;  // wall clock
    Millis duration{0};
    uint64_t bytes = 0;
    uint64_t frames = 0;
    bool repaired = false;
};

// A segment of HLS that was written to disk. The views have to live until tell_segment() returns.
struct SegmentEventView {
    std::string_view vhost;
    std::string_view app;
    std::string_view stream;
    std::string_view root;      // the folder as configured
    std::string_view folder;    // of the stream, below it
    std::string_view file;      // in that
    std::string_view playlist;  // in that
    Millis duration{0};
    uint64_t number = 0;  // media sequence number
};

class Hooks {
  public:
    // Whether somebody has to be asked whether a client may do this, or told of its end. Never
    // yields.
    virtual bool wants(HookAction action, const stream::StreamKey& key) const = 0;

    // What a connection to that app (a key without a name) had to ask about, and whom; empty:
    // nobody. Differs between apps and vhosts. A stream whose scope is another one needs another
    // connection, or on_connect would be gone around. Never yields.
    virtual std::string connect_scope(const stream::StreamKey&) const { return {}; }

    // Whether somebody has to say yes before a client may do this. Never yields.
    virtual bool asks(HookAction action, const stream::StreamKey& key) const {
        return wants(action, key);
    }

    // Yields. Asks, and waits for the answer at most as long as configured; returns early when
    // `peer` (may be null) hangs up. Until then nobody else may wait for `peer` or handle its
    // events.
    // kDenied: refused, the message is for the client. kTimeout: the hook server did not answer in
    // time, kUnavailable: it cannot be reached or answers with nonsense, and the configuration
    // refuses then; the message is for the client. kClosed: the peer hung up. kInterrupted.
    virtual Result<HookTicket> ask(const Client& client,
                                   const HookRequestView& what,
                                   io::TcpStream* peer) = 0;

    // Never yields.
    virtual void tell_record(const RecordEventView&) {}

    // Never yields.
    virtual void tell_segment(const SegmentEventView&) {}

  protected:
    ~Hooks() = default;
};

// Of a server without hooks.
Hooks& no_hooks();

}  // namespace weir::net
