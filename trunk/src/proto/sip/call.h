// One call of a UserAgent, in either direction, from the first INVITE to the last answer: a state
// machine over the transactions, with one dialog. See user_agent.h for what it does.
//
// The user agent gives it the events of its transactions and calls what the owner asks for; it puts
// events into the user agent's queue. After the last event (kFailed, kCancelled, kEnded) it may
// live on until its own requests are answered; gone() says when that is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/object_count.h"
#include "base/random.h"
#include "proto/http/login.h"
#include "proto/sip/call_types.h"
#include "proto/sip/dialog.h"
#include "proto/sip/session_timer.h"
#include "proto/sip/transactions.h"

namespace weir::sip {

inline constexpr size_t kMaxPendingRequests = 8;  // of one call, that wait for an answer
inline constexpr int kMaxOfferTries = 4;          // of one offer that meets another (491)

// What all calls of a user agent share; it outlives them.
struct CallContext {
    const UserAgentOptions& options;
    RandomSource& random;
    Transactions& transactions;
    std::deque<CallEvent>& events;
};

class Call final : private Counted<Call> {
  public:
    static constexpr ObjectName kObjectName{"sip_call", "sip"};

    Call(CallId id, CallContext context) : id_(id), context_(context) {}

    // Either of them, once. False: it cannot begin, and is to be dropped (invited() has answered).
    bool start(MonoTime now, const CallTarget& target);
    bool invited(MonoTime now, TransactionEvent event, std::string sdp);

    // What the owner asks for: as in UserAgent.
    bool ring(MonoTime now, int status, std::string sdp);
    bool accept(MonoTime now, std::string sdp);
    bool reject(MonoTime now, int status, const http::Fields& headers);
    void prove();
    bool hang_up(MonoTime now);
    bool offer(MonoTime now, std::string sdp);
    bool answer_offer(MonoTime now, std::string sdp);
    bool refuse_offer(MonoTime now, int status);
    bool send_info(MonoTime now, std::string type, std::string body);
    bool ask(MonoTime now);

    MonoTime heard() const { return heard_; }

    // Of its transactions and its dialog. False: no dialog has the tag of the peer (481).
    bool on_request(MonoTime now, const TransactionEvent& event);
    void on_ack(MonoTime now, const TransactionEvent& event);
    void on_cancel(MonoTime now, TransactionId invite);
    void on_response(MonoTime now, const TransactionEvent& event);
    void on_unanswered(MonoTime now, const TransactionEvent& event);

    void handle_timeout(MonoTime now);
    std::optional<MonoTime> next_timeout() const;

    bool gone() const { return state_ == State::kEnding && pending_.empty() && !unacked_; }

    CallId id() const { return id_; }

    const std::string& call_id_text() const { return call_id_; }

    const std::string& local_tag() const { return local_tag_; }

    // The INVITE of a call to the server, while it has no final answer.
    bool waits_for_answer() const {
        return state_ == State::kInvited || state_ == State::kAccepting;
    }

    std::optional<MonoTime> planned;  // of the user agent's list
    std::string merge_key;            // of the user agent

  private:
    enum class State : uint8_t {
        kInvited,      // called: the owner decides
        kAccepting,    // called: accepted, but a reliable provisional answer waits for its PRACK
        kCalling,      // calls: no final answer
        kEstablished,  // 2xx came or was sent
        kEnding,       // the last event was given
    };

    enum class Purpose : uint8_t { kInvite, kOffer, kRefresh, kInfo, kAsk, kPrack, kBye };

    // A request of ours, as it is sent again after a challenge.
    struct Pending {
        Purpose purpose = Purpose::kInvite;
        Request request;
    };

    // An answer of ours that is sent again until its ACK or PRACK comes.
    struct Repeated {
        TransactionId transaction = 0;
        uint32_t number = 0;  // CSeq of the INVITE; of a provisional one: RSeq
        uint32_t invite = 0;  // CSeq of the INVITE
        bool initial = false;
        bool has_offer = false;
        Millis interval{0};
        MonoTime next;
        MonoTime deadline;
    };

    // An offer of the peer, while the owner decides.
    struct Incoming {
        TransactionId transaction = 0;
        bool invite = false;
        bool empty = false;  // our answer is an offer
        uint32_t number = 0;
        SessionAnswer session;
        MonoTime deadline;
    };

    struct Early {
        Dialog dialog;
        uint32_t rseq = 0;
    };

    // call.cc
    void emit(CallEvent event);
    void finish(CallEvent::Kind kind, int status, bool by_us, std::string reason = {});
    bool send(MonoTime now, Request request, Purpose purpose, const Flow& flow);
    bool send_again(MonoTime now, Pending pending, const Response& response);
    void send_bye(MonoTime now);
    void end_failed(MonoTime now, int status);
    void hang_up_dialog(MonoTime now, int status);
    void on_unacked(MonoTime now);
    void on_answer_due(MonoTime now);
    void add_session(Request& request, bool refresher) const;
    void add_capabilities(http::Fields& headers, bool request) const;
    Repeated repeat(MonoTime now, TransactionId id, uint32_t invite) const;

    const Flow& requests_flow() const { return dialog_ ? dialog_->flow() : flow_; }

    // call_uac.cc
    void on_invite_response(MonoTime now, const TransactionEvent& event, Pending pending);
    void on_provisional(MonoTime now, const TransactionEvent& event);
    void on_refused(MonoTime now, const TransactionEvent& event, Pending pending);
    void on_accepted(MonoTime now, const TransactionEvent& event);
    void acknowledge_fork(MonoTime now, const TransactionEvent& event);
    void acknowledge(uint32_t number);
    void acknowledge_reliably(MonoTime now, const TransactionEvent& event, Early& early);
    Early* early_dialog(const TransactionEvent& event);
    void start_session(MonoTime now, const Response& response);
    void give_up(MonoTime now, int status);

    // call_uas.cc
    void respond_ok(MonoTime now, TransactionId id, std::string sdp, const SessionAnswer& session);
    void send_ok(MonoTime now);
    void on_prack(MonoTime now, const TransactionEvent& event);
    void on_provisional_due(MonoTime now);

    // call_session.cc
    void on_reinvite(MonoTime now, const TransactionEvent& event);
    void on_update(MonoTime now, const TransactionEvent& event);
    void take_offer(MonoTime now, const TransactionEvent& event, std::string sdp);
    void on_bye(MonoTime now, const TransactionEvent& event);
    void on_info(MonoTime now, const TransactionEvent& event);
    void on_session_response(MonoTime now, const TransactionEvent& event, Pending pending);
    void on_offer_refused(MonoTime now, const Response& response, Purpose purpose);
    void refresh(MonoTime now);
    bool has_pending(Purpose purpose) const;
    bool send_offer(MonoTime now, std::string sdp, Purpose purpose);
    void respond_simple(MonoTime now, const TransactionEvent& event, int status);

    const CallId id_;
    CallContext context_;
    State state_ = State::kInvited;
    bool caller_ = false;
    bool proven_ = false;        // the peer is where its messages come from
    bool peer_updates_ = false;  // its Allow has UPDATE
    bool peer_100rel_ = false;   // Require: 100rel in its INVITE
    bool offers_first_ = false;  // the INVITE had no SDP: accept() makes an offer
    bool early_answer_ = false;  // the answer went out with a reliable provisional one
    bool provisional_ = false;   // of our INVITE
    bool cancelling_ = false;    // our INVITE is given up
    bool bye_wanted_ = false;    // as soon as the ACK comes
    int offer_tries_ = 0;
    uint32_t min_session_ = 0;  // that a 422 asked for
    std::string call_id_;
    std::string local_tag_;
    std::string contact_;
    Flow flow_;                 // of the INVITE
    TransactionId invite_ = 0;  // the first one, ours or the peer's
    uint32_t invite_number_ = 0;
    std::optional<Dialog> dialog_;
    std::vector<Early> early_;
    http::Login login_;         // for 401
    http::Login proxy_login_;   // for 407
    http::Fields credentials_;  // of the last INVITE, for its ACK (RFC 3261 §22.1)
    std::map<TransactionId, Pending> pending_;
    std::optional<Repeated> unacked_;    // a 2xx
    std::optional<Repeated> unpracked_;  // a provisional answer
    uint32_t last_rseq_ = 0;             // of ours
    std::string accept_sdp_;             // kAccepting
    SessionAnswer session_answer_;       // for the 2xx of the first INVITE
    SessionTimer session_;
    std::optional<Incoming> incoming_;
    std::string local_sdp_;               // the last of ours, for refreshes
    std::optional<std::string> retried_;  // an offer that waits after 491
    std::optional<MonoTime> retry_at_;
    std::optional<MonoTime> answer_by_;
    MonoTime heard_{};
    std::string ack_;  // of the last 2xx to an INVITE of ours
    uint32_t ack_number_ = 0;
};

// Body of a message where it is SDP. nullopt: it is something else (415).
std::optional<std::string> sdp_of(const MessageBase& message);

}  // namespace weir::sip
