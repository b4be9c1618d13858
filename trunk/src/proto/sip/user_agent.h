// A SIP user agent (RFC 3261) for many calls in both directions: transactions, dialogs and calls
// behind one interface. The owner passes SDP and media events in and out and sees no transaction of
// a call. Sans-IO.
//
// Driven so: give it what arrives, and call what the owner wants; after each call drain
// poll_transmit() and poll_event() until they are empty; call handle_timeout() at next_timeout().
//
//     to the server:  kInvited  [ring()]  accept() -> kConfirmed  ... hang_up() or kEnded
//     by the server:  call()  -> kProgress* -> kAnswered  ... hang_up() or kEnded
//
// Who may call is the owner's business: reject() with 401 and a challenge in `headers`. So is who
// has proven its address before the ACK: prove(). See transactions.h for what others get.
//
// Done: offers in INVITE, 200 and UPDATE, 100rel both ways (RFC 3262), session timers both ways
// (RFC 4028), digest of 401 and 407, the first 2xx of a forked call. REFER is declined, redirects
// are not followed, and bodies other than SDP are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "proto/sip/call_types.h"
#include "proto/sip/due_list.h"
#include "proto/sip/transactions.h"

namespace weir::sip {

class Call;
struct CallContext;

class UserAgent {
  public:
    // `random` must outlive this.
    UserAgent(UserAgentOptions options, RandomSource& random);

    // T1 of what begins from now on.
    void set_t1(Millis t1) {
        options_.transactions.t1 = t1;
        transactions_.set_t1(t1);
    }

    ~UserAgent();
    UserAgent(const UserAgent&) = delete;
    UserAgent& operator=(const UserAgent&) = delete;

    // ---- what arrives ----

    void on_parsed(MonoTime now, Parsed parsed, const Flow& flow);

    // Nothing can be sent on this flow any more.
    void on_flow_failed(MonoTime now, const Flow& flow);

    // ---- calls to the server, after kInvited ----

    // All of these: false where the call is gone, or in a state that has no such step.

    // 180, or 183 with an answer for early media. May be repeated.
    bool ring(MonoTime now, CallId call, int status = 180, std::string sdp = {});

    // 200. `sdp`: the answer, or an offer where the INVITE had none.
    bool accept(MonoTime now, CallId call, std::string sdp);

    // 300 to 699. kCancelled follows.
    bool reject(MonoTime now, CallId call, int status, const http::Fields& headers = {});

    // The caller has proven its address (a nonce that was sent there came back). The ACK, and every
    // other request within the dialog, prove it without this.
    bool prove(CallId call);

    // ---- calls by the server ----

    // 0: there are too many calls or transactions; nothing was sent.
    CallId call(MonoTime now, const CallTarget& target);

    // ---- all calls ----

    // CANCEL, 480 or BYE, whatever its state asks for. The last event follows.
    bool hang_up(MonoTime now, CallId call);

    // An offer within the call (hold, another codec): kOfferAnswered or kOfferRefused follows.
    // False: one is under way.
    bool offer(MonoTime now, CallId call, std::string sdp);

    // After kOffer. `status`: 488 and others.
    bool answer_offer(MonoTime now, CallId call, std::string sdp);
    bool refuse_offer(MonoTime now, CallId call, int status);

    // DTMF, picture_fast_update.
    bool send_info(MonoTime now, CallId call, std::string type, std::string body);

    // OPTIONS within the call, which tells nobody of its answer but heard(). False, too, while one
    // is under way.
    bool ask(MonoTime now, CallId call);

    // When the peer sent a request of the call, or an answer to one, last; of the call's begin
    // before that. 481, and 408, which a proxy says, do not count. MonoTime(): the call is gone.
    MonoTime heard(CallId call) const;

    // ---- outside of calls ----

    // REGISTER, OPTIONS: `request` without Via, with Call-ID and CSeq. `user` comes back with
    // kResponse or kRequestFailed. False: there are too many.
    bool send_request(MonoTime now, Request request, const Flow& flow, uint64_t user);

    // After kRequest. The response's headers are added to those that every response has.
    bool respond(MonoTime now,
                 TransactionId transaction,
                 int status,
                 const http::Fields& headers = {},
                 std::string body = {});

    // The same of a kRequest, before respond().
    void prove_request(TransactionId transaction) { transactions_.prove(transaction); }

    // ---- time and output ----

    void handle_timeout(MonoTime now);
    std::optional<MonoTime> next_timeout() const;

    std::optional<Transmit> poll_transmit() { return transactions_.poll_transmit(); }

    std::optional<CallEvent> poll_event();

    size_t calls() const { return calls_.size(); }

    // The Call-ID of its messages, for logs and names; empty: the call is gone.
    std::string_view call_id_text(CallId call) const;

    const Transactions& transactions() const { return transactions_; }

  private:
    void work(MonoTime now);
    void on_event(MonoTime now, TransactionEvent event);
    void on_request(MonoTime now, TransactionEvent event);
    void on_outside_request(MonoTime now, TransactionEvent event);
    void on_invite(MonoTime now, TransactionEvent event);
    bool refuse_early(MonoTime now, const TransactionEvent& event);
    void answer(MonoTime now, TransactionId id, int status, const http::Fields& headers = {});
    void on_owner_event(TransactionEvent event);
    CallContext context();
    Call* find(CallId id) const;
    Call* find_dialog(const CoreHeaders& core) const;
    void settle(Call& call);
    template <typename Step>
    bool step(CallId id, Step&& what);

    UserAgentOptions options_;
    RandomSource& random_;
    Transactions transactions_;
    CallId last_id_ = 0;
    std::map<CallId, std::unique_ptr<Call>> calls_;
    std::map<std::string, CallId, std::less<>> dialogs_;  // by Call-ID and our tag
    std::map<std::string, CallId, std::less<>> invites_;  // that wait, by what a loop has alike
    DueList due_;
    std::deque<CallEvent> events_;
};

}  // namespace weir::sip
