// The transaction layer of a user agent (RFC 3261 §17 with RFC 6026, RFC 3581, RFC 4320): matches
// messages, sends again what may be lost, and ends what nobody answers. Sans-IO.
//
// Driven so: give it what arrives and what the user of this class wants to send; after each call
// drain poll_transmit() and poll_event() until they are empty; call handle_timeout() at
// next_timeout(). The layer itself makes 100 (Trying), the ACK of a response other than 2xx, the
// answer to CANCEL, and 400 or 503 to what it refuses.
//
// Bounded: by number and by bytes of transactions. What is over that gets 503 with Retry-After, and
// leaves no state. Strangers choose the keys, so the tables are trees.
//
// Strangers: whoever sends a request over UDP may have forged its address. Until prove() is called
// that address gets at most three times the bytes that came from it (base/path_budget.h), and
// a final answer is sent once and leaves no state (RFC 3261 §26.3.2.4, with §8.2.7): a caller that
// has lost it repeats the request, and gets another answer. There are two exceptions, within the
// same bytes: a 2xx to INVITE waits for its ACK, and a caller that has got a provisional answer,
// and so does not repeat its INVITE, gets the refusal again by a timer. Over TCP and TLS the
// handshake has proven the address.
//
// Deviations: maddr of a Via is not followed, since it would send answers to anybody; an answer
// over UDP goes to the address that the request came from (its port: rport, else that of the Via).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "proto/sip/core_headers.h"
#include "proto/sip/due_list.h"
#include "proto/sip/flow.h"
#include "proto/sip/message.h"

namespace weir::sip {

using TransactionId = uint64_t;  // 0: none; never used twice

inline constexpr size_t kMaxTransactions = 50'000;
inline constexpr size_t kMaxTransactionBytes = 64 * 1024 * 1024;  // of kept messages, all together
inline constexpr size_t kMaxStrangers = 2'000;  // transactions of unproven peers, for their owner

struct TransactionOptions {
    size_t max_transactions = kMaxTransactions;
    size_t max_bytes = kMaxTransactionBytes;
    size_t max_strangers = kMaxStrangers;
    Millis t1{500};   // estimate of a round trip (RFC 3261 §17.1.1.1)
    Millis t2{4000};  // longest pause between two of a non-INVITE
    Millis t4{5000};  // how long the network may hold a message
    Seconds retry_after{10};

    Millis t64() const { return 64 * t1; }
};

struct Transmit {
    Flow flow;
    std::string bytes;
};

struct TransactionEvent {
    enum class Kind : uint8_t {
        kRequest,          // a new server transaction: answer it with respond()
        kAck,              // an ACK outside of transactions: that of a 2xx; id is 0
        kCancel,           // of the INVITE `id`, which has no final answer yet; answer it with 487
        kResponse,         // to the request `id`; further 2xx of an INVITE, too
        kTimeout,          // the request `id` got no final answer
        kTransportFailed,  // the request `id` could not be sent
    };

    Kind kind = Kind::kRequest;
    TransactionId id = 0;
    uint64_t user = 0;  // what the user of this class has said with the request
    Request request;    // kRequest, kAck
    Response response;  // kResponse
    CoreHeaders core;   // of the message; not of kTimeout and kTransportFailed, nor kCancel
    Flow flow;          // where it came from
};

class Transactions {
  public:
    // `random` must outlive this.
    Transactions(TransactionOptions options, RandomSource& random);
    ~Transactions();
    Transactions(const Transactions&) = delete;
    Transactions& operator=(const Transactions&) = delete;

    // ---- what arrives ----

    // `bytes`: size of the datagram; of no account over TCP and TLS.
    void on_message(MonoTime now, Message message, const Flow& flow, size_t bytes);

    // What parse_datagram or StreamReader calls malformed: answered where it can be.
    void on_malformed(const Parsed& parsed, const Flow& flow);

    // Nothing can be sent on this flow any more: its transactions that wait for an answer end.
    void on_flow_failed(const Flow& flow);

    // ---- client ----

    // Puts Via in front, and Max-Forwards where there is none. The rest must be complete (From, To,
    // Call-ID, CSeq ...). Not for ACK. `user` comes back with its events. 0: there are too many;
    // nothing was sent.
    TransactionId send_request(MonoTime now, Request request, const Flow& flow, uint64_t user);

    // Without a transaction: the ACK of a 2xx. Puts Via in front. Gives what was sent, for
    // send_bytes().
    std::string send_ack(Request request, const Flow& flow);
    void send_bytes(std::string bytes, const Flow& flow);

    // CANCEL of an INVITE of ours that has got a provisional answer, and no final one (RFC 3261
    // §9.1). False: there is none such. The answer to CANCEL is no event; the INVITE ends in
    // kTimeout if nothing comes in 64 T1.
    bool cancel(MonoTime now, TransactionId invite);

    // ---- server ----

    // The Vias, From, To (with the tag of this transaction), Call-ID and CSeq.
    Response make_response(TransactionId id, int status, std::string_view reason = {}) const;

    // The tag that the answers of this transaction have where the request had none.
    std::string_view local_tag(TransactionId id) const;

    // `user` comes with kCancel.
    void set_user(TransactionId id, uint64_t user);

    // False: the transaction is gone, or has its final answer.
    bool respond(MonoTime now, TransactionId id, const Response& response);
    bool respond(MonoTime now, TransactionId id, int status, std::string_view reason = {});

    // The last answer once more: a 2xx or a reliable provisional one, whose ACK or PRACK is missing
    // (RFC 3261 §13.3.1.4). False: the transaction is gone.
    bool respond_again(TransactionId id);

    // Who sent the request is at the address that it came from: it has shown what was sent there.
    // Of a transaction that is gone nothing happens.
    void prove(TransactionId id);

    // A request without a transaction, to where the answers of `invite` go: the BYE of a call that
    // nobody has acknowledged. False: more bytes than may be sent there, or `invite` is gone.
    bool send_once(TransactionId invite, Request request);

    // Transactions of unproven peers.
    size_t strangers() const { return strangers_; }

    bool has_room_for_strangers() const { return strangers_ <= options_.max_strangers; }

    // Messages that were not sent: the address is unproven, and has got its share.
    uint64_t held_back() const { return held_back_; }

    // ---- time and output ----

    void handle_timeout(MonoTime now);
    std::optional<MonoTime> next_timeout() const;
    std::optional<Transmit> poll_transmit();
    std::optional<TransactionEvent> poll_event();

    size_t size() const { return all_.size(); }

    size_t held_bytes() const { return bytes_; }

    const TransactionOptions& options() const { return options_; }

    void set_t1(Millis t1) { options_.t1 = t1; }

  private:
    struct Transaction;

    // What arrives.
    void on_request(MonoTime now, Request request, const Flow& flow, size_t bytes);
    void on_response(MonoTime now, Response response, const Flow& flow);
    void on_repetition(Transaction& transaction, const Flow& flow, size_t bytes);
    void on_ack(MonoTime now, Request request, CoreHeaders core, const Flow& flow);
    void on_cancel(const Request& request, const CoreHeaders& core, const Flow& flow, size_t bytes);
    void on_final(MonoTime now, Transaction& transaction, const TransactionEvent& event);
    void begin_server(
        MonoTime now, Request request, CoreHeaders core, const Flow& flow, size_t bytes);
    void refuse(const Request& request,
                const Flow& flow,
                int status,
                std::string_view reason,
                size_t bytes);
    void answer_once(Response response, const Flow& flow, size_t bytes);
    void on_trying_due(MonoTime now, Transaction& transaction);
    std::string make_tag(std::string_view key, std::string_view call_id, const Flow& flow) const;

    // The table.
    Transaction* find(TransactionId id) const;
    Transaction* find_server(const CoreHeaders& core, std::string_view uri, Method method) const;
    Transaction& add(std::string key, bool client, const Flow& flow);
    bool has_room(size_t bytes) const;

    bool is_crowded() const { return all_.size() > options_.max_transactions / 2; }

    void hold(Transaction& transaction, std::string bytes);
    void end(Transaction& transaction);
    void end_after(MonoTime now, Transaction& transaction, Millis pause);

    // Output and time.
    void transmit(Transaction& transaction);
    void complete(MonoTime now, Transaction& transaction, int status);
    void plan(Transaction& transaction);
    void on_due(MonoTime now, Transaction& transaction);
    void fail(Transaction& transaction, TransactionEvent::Kind kind);
    Via new_via(const Flow& flow);

    TransactionOptions options_;
    RandomSource& random_;
    std::array<uint8_t, 32> tag_key_{};
    TransactionId last_id_ = 0;
    size_t bytes_ = 0;
    size_t strangers_ = 0;
    uint64_t held_back_ = 0;
    std::unordered_map<TransactionId, std::unique_ptr<Transaction>> all_;
    std::map<std::string, TransactionId, std::less<>> clients_;
    std::map<std::string, TransactionId, std::less<>> servers_;
    std::set<std::pair<uint64_t, TransactionId>> by_connection_;  // of clients, over TCP and TLS
    DueList due_;
    std::deque<Transmit> transmits_;
    std::deque<TransactionEvent> events_;
};

}  // namespace weir::sip
