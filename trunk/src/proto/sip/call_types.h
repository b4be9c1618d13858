// What the owner of a UserAgent gives and gets for calls: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "proto/http/fields.h"
#include "proto/http/user_info.h"
#include "proto/sip/flow.h"
#include "proto/sip/message.h"
#include "proto/sip/transactions.h"

namespace weir::sip {

using CallId = uint64_t;  // 0: none; never used twice

inline constexpr size_t kMaxCalls = 10'000;
inline constexpr size_t kMaxEarlyDialogs = 8;  // of one INVITE: how often it may fork
inline constexpr std::string_view kSdpType = "application/sdp";
inline constexpr std::string_view kAllow =
    "INVITE, ACK, BYE, CANCEL, OPTIONS, PRACK, UPDATE, INFO, REGISTER";
inline constexpr std::string_view kSupported = "100rel, timer";

struct UserAgentOptions {
    TransactionOptions transactions;
    size_t max_calls = kMaxCalls;
    std::string product = "Weir";   // of User-Agent and Server; empty: none
    Seconds session_expires{1800};  // RFC 4028: a call without a refresh ends after it
    Seconds min_session{90};        // the shortest that a peer may ask for
    Seconds answer_timeout{180};    // a call of ours that rings, and one that the owner lets ring
};

// How the transactions of calls and those of the owner are told apart (TransactionEvent::user).
constexpr uint64_t user_of_call(CallId id) {
    return id << 1U | 1U;
}

constexpr uint64_t user_of_owner(uint64_t user) {
    return user << 1U;
}

// A call by the server.
struct CallTarget {
    Flow flow;                        // where the INVITE goes
    std::string uri;                  // whom to call: Request-URI and To
    std::string from;                 // "sip:user@domain"
    std::string from_display;         // may be empty
    std::string contact_user;         // of Contact; may be empty
    std::vector<std::string> routes;  // "<sip:proxy;lr>" of an outbound proxy; usually empty
    http::UserInfo login;             // answers 401 and 407; may be empty
    std::string sdp;                  // the offer
    // Further ones. Max-Forwards of a call that is passed on: one less than it came with (RFC 3261
    // §16.6), so that no call goes round for ever.
    http::Fields headers;
};

// One event. A call ends with exactly one of kFailed, kCancelled and kEnded, also where the owner
// ends it; its id is dead then.
struct CallEvent {
    enum class Kind : uint8_t {
        // Calls to the server.
        kInvited,    // request, flow, sdp: the offer; empty: accept() has to make one
        kConfirmed,  // the ACK of accept() came; sdp: the answer where accept() has made an offer
        kCancelled,  // ended before accept(): status 487, or 408 and 504 after silence

        // Calls by the server.
        kProgress,  // status 180 ("rings") to 199; sdp may hold an answer for early media
        kAnswered,  // sdp: the answer; empty where kProgress had it
        kFailed,    // status; contacts where it is 3xx. 408: no answer. 503: cannot be reached

        // Calls that are answered.
        kEnded,          // status 0: BYE of either side; else why the call has failed
        kOffer,          // answer_offer() or refuse_offer(); an empty sdp: make an offer
        kOfferAnswered,  // sdp: the answer to offer(), to an offer that answer_offer() has made,
                         // or to our last offer, which was sent again to refresh the session
        kOfferRefused,   // status; the session stays as it was
        kInfo,           // type, body

        // Outside of calls.
        kRequest,        // request, flow: REGISTER, OPTIONS, MESSAGE: answer with respond()
        kResponse,       // user, response: a final one to send_request()
        kRequestFailed,  // user, status 408 or 503: there is no response
    };

    Kind kind = Kind::kRequest;
    CallId call = 0;
    TransactionId transaction = 0;  // kRequest
    uint64_t user = 0;              // kResponse, kRequestFailed
    int status = 0;
    bool by_us = false;  // kFailed, kCancelled, kEnded
    std::string reason;
    std::string sdp;
    std::string type;  // Content-Type, of kInfo
    std::string body;
    std::vector<std::string> contacts;  // URIs of a 3xx; nobody follows them here
    Request request;
    Response response;
    Flow flow;
};

}  // namespace weir::sip
