#include "proto/sip/transactions.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/hmac.h"
#include "base/object_count.h"
#include "base/path_budget.h"
#include "base/strings.h"
#include "proto/sip/answers.h"
#include "proto/sip/uri.h"

namespace weir::sip {
namespace {

constexpr size_t kBranchLength = 20;
constexpr size_t kTagLength = 8;        // bytes, written as twice as many digits
constexpr Millis kTryingDelay{200};     // RFC 3261 §17.2.1
constexpr Seconds kMaxProceeding{600};  // an INVITE of ours: since its last provisional answer

enum class State : uint8_t {
    kTrying,      // no answer yet; Calling of an INVITE client
    kProceeding,  // a provisional one
    kCompleted,   // a final one, of an INVITE not 2xx
    kConfirmed,   // server: the ACK came
    kAccepted,    // of an INVITE: 2xx (RFC 6026)
};

std::string server_key(const CoreHeaders& core, std::string_view uri, Method method) {
    const Via& via = core.via;
    const std::string_view name =
        method == Method::kUnknown ? std::string_view(core.cseq.method_name) : to_string(method);
    if (via.has_unique_branch()) {
        return fmt::format("b\n{}\n{}:{}\n{}", to_lower(via.branch()), via.host, via.port, name);
    }
    // RFC 3261 §17.2.3, for agents of RFC 2543.
    return fmt::format("o\n{}\n{}\n{}\n{}\n{}\n{}", core.call_id, core.from.tag(), core.cseq.number,
                       name, uri, via.write());
}

std::string client_key(std::string_view branch, std::string_view method) {
    return fmt::format("{}\n{}", to_lower(branch), method);
}

std::string host_text(const NetAddress& address) {
    return address.is_v4() ? address.ip_text() : fmt::format("[{}]", address.ip_text());
}

http::Fields fields_with(const http::Fields& fields,
                         std::initializer_list<std::string_view> names) {
    http::Fields out;
    for (const http::Field& field : fields) {
        if (std::ranges::any_of(names, [&](std::string_view name) {
                return http::equal_ignoring_case(field.name, name);
            })) {
            out.add(field.name, field.value);
        }
    }
    return out;
}

size_t bytes_of(const http::Fields& fields) {
    size_t out = 0;
    for (const http::Field& field : fields) {
        out += field.name.size() + field.value.size() + sizeof(http::Field);
    }
    return out;
}

}  // namespace

struct Transactions::Transaction final : private Counted<Transactions::Transaction> {
    // A request of SIP until its answers are through.
    static constexpr ObjectName kObjectName{"sip_transaction", "sip"};

    TransactionId id = 0;
    uint64_t user = 0;
    bool client = false;
    bool invite = false;
    bool cancelled = false;
    bool silent = false;  // a CANCEL: nobody hears of it
    State state = State::kTrying;
    Flow flow;
    std::string key;
    std::string bytes;      // the request, or the last answer
    http::Fields ids;       // what an answer copies; of an INVITE client what ACK and CANCEL need
    std::string uri;        // of an INVITE client
    std::string local_tag;  // server
    PathBudget budget;      // server: what may be sent
    size_t held = 0;        // bytes that count
    Millis interval{0};
    std::optional<MonoTime> resend_at;
    std::optional<MonoTime> end_at;
    std::optional<MonoTime> trying_at;  // server: 100 is due
    std::optional<MonoTime> planned;

    bool final_sent() const { return state >= State::kCompleted; }
};

Transactions::Transactions(TransactionOptions options, RandomSource& random)
    : options_(options), random_(random) {
    random_.fill(tag_key_);
}

Transactions::~Transactions() = default;

// ---- what arrives ----

void Transactions::on_message(MonoTime now, Message message, const Flow& flow, size_t bytes) {
    if (auto* const request = std::get_if<Request>(&message)) {
        on_request(now, std::move(*request), flow, bytes);
    } else {
        on_response(now, std::move(std::get<Response>(message)), flow);
    }
}

void Transactions::on_malformed(const Parsed& parsed, const Flow& flow) {
    const auto* const request = std::get_if<Request>(&parsed.message);
    if (request != nullptr && parsed.status != 0 && request->method != Method::kAck) {
        refuse(*request, flow, parsed.status, {}, parsed.bytes);
    }
}

void Transactions::on_request(MonoTime now, Request request, const Flow& flow, size_t bytes) {
    std::string_view reason;
    std::optional<CoreHeaders> core = read_core_headers(request, reason);
    if (!core) {
        if (request.method != Method::kAck) {
            refuse(request, flow, 400, reason, bytes);
        }
        return;
    }
    if (request.method == Method::kAck) {
        on_ack(now, std::move(request), std::move(*core), flow);
    } else if (request.method == Method::kCancel) {
        on_cancel(request, *core, flow, bytes);
    } else if (Transaction* const known = find_server(*core, request.uri, request.method)) {
        on_repetition(*known, flow, bytes);
    } else {
        begin_server(now, std::move(request), std::move(*core), flow, bytes);
    }
}

void Transactions::begin_server(
    MonoTime now, Request request, CoreHeaders core, const Flow& flow, size_t bytes) {
    std::string key = server_key(core, request.uri, request.method);
    note_source(core.via, flow);
    request.headers = with_top_via(request.headers, core.via);
    http::Fields ids = fields_with(request.headers, {"Via", "From", "To", "Call-ID", "CSeq"});
    if (!has_room(bytes_of(ids))) {
        refuse(request, flow, 503, {}, bytes);
        return;
    }
    Transaction& added = add(std::move(key), false, answer_flow(core.via, flow));
    added.invite = request.method == Method::kInvite;
    added.ids = std::move(ids);
    added.local_tag = make_tag(added.key, core.call_id, flow);
    added.budget.note_received(bytes);
    hold(added, {});
    if (added.invite) {
        added.trying_at = now + kTryingDelay;
    } else {
        added.end_at = now + options_.t64();  // somebody has to answer
    }
    plan(added);
    TransactionEvent event;
    event.id = added.id;
    event.request = std::move(request);
    event.core = std::move(core);
    event.flow = flow;
    events_.push_back(std::move(event));
}

// Of an INVITE that was accepted, the user sends 2xx again by itself (RFC 6026 §7.1).
void Transactions::on_repetition(Transaction& transaction, const Flow& flow, size_t bytes) {
    if (flow.remote.same_ip(transaction.flow.remote)) {
        transaction.budget.note_received(bytes);
    }
    if (!transaction.bytes.empty() && transaction.state != State::kConfirmed &&
        transaction.state != State::kAccepted) {
        transmit(transaction);
    }
}

void Transactions::on_ack(MonoTime now, Request request, CoreHeaders core, const Flow& flow) {
    Transaction* const invite = find_server(core, request.uri, Method::kInvite);
    if (invite != nullptr && invite->state == State::kCompleted) {
        invite->state = State::kConfirmed;
        invite->resend_at.reset();
        end_after(now, *invite, options_.t4);  // timer I
        return;
    }
    if (invite != nullptr && invite->state != State::kAccepted) {
        return;
    }
    TransactionEvent event;
    event.kind = TransactionEvent::Kind::kAck;
    event.request = std::move(request);
    event.core = std::move(core);
    event.flow = flow;
    events_.push_back(std::move(event));
}

// Answered without a state of its own: the same CANCEL gets the same answer (RFC 3261 §9.2).
void Transactions::on_cancel(const Request& request,
                             const CoreHeaders& core,
                             const Flow& flow,
                             size_t bytes) {
    Transaction* const invite = find_server(core, request.uri, Method::kInvite);
    if (invite == nullptr) {
        refuse(request, flow, 481, {}, bytes);
        return;
    }
    Via via = core.via;
    note_source(via, flow);
    Request copy;
    copy.headers = with_top_via(request.headers, via);
    answer_once(sip::make_response(copy, 200, {}, invite->local_tag), answer_flow(via, flow),
                bytes);
    if (invite->final_sent()) {
        return;
    }
    TransactionEvent event;
    event.kind = TransactionEvent::Kind::kCancel;
    event.id = invite->id;
    event.user = invite->user;
    event.flow = flow;
    events_.push_back(std::move(event));
}

void Transactions::on_response(MonoTime now, Response response, const Flow& flow) {
    std::string_view reason;
    std::optional<CoreHeaders> core = read_core_headers(response, reason);
    if (!core) {
        return;
    }
    const auto at = clients_.find(client_key(core->via.branch(), core->cseq.method_name));
    Transaction* const transaction = at == clients_.end() ? nullptr : find(at->second);
    if (transaction == nullptr) {
        return;
    }
    TransactionEvent event;
    event.kind = TransactionEvent::Kind::kResponse;
    event.id = transaction->id;
    event.user = transaction->user;
    event.response = std::move(response);
    event.core = std::move(*core);
    event.flow = flow;
    if (event.response.status >= 200) {
        on_final(now, *transaction, event);
        return;
    }
    if (transaction->state > State::kProceeding) {
        return;
    }
    transaction->state = State::kProceeding;
    if (transaction->invite) {
        transaction->resend_at.reset();
        if (!transaction->cancelled) {
            transaction->end_at = now + kMaxProceeding;
        }
    } else if (transaction->resend_at) {
        transaction->interval = options_.t2;
    }
    plan(*transaction);
    if (!transaction->silent) {
        events_.push_back(std::move(event));
    }
}

void Transactions::on_final(MonoTime now, Transaction& transaction, const TransactionEvent& event) {
    const bool success = event.response.status < 300;
    const bool first = transaction.state <= State::kProceeding;
    if (!transaction.invite) {
        if (first) {
            if (!transaction.silent) {
                events_.push_back(event);
            }
            transaction.state = State::kCompleted;
            end_after(now, transaction, options_.t4);  // timer K
        }
        return;
    }
    if (success) {
        if (first || transaction.state == State::kAccepted) {
            events_.push_back(event);
        }
        if (first) {
            transaction.state = State::kAccepted;
            transaction.resend_at.reset();
            transaction.end_at = now + options_.t64();  // timer M
            hold(transaction, {});
            plan(transaction);
        }
        return;
    }
    if (transaction.state == State::kAccepted) {
        return;
    }
    if (first) {
        // RFC 3261 §17.1.1.3: the same branch, the To of the response.
        Request ack;
        ack.method = Method::kAck;
        ack.uri = transaction.uri;
        for (const http::Field& field : transaction.ids) {
            const bool to = field.name == "To";
            const bool cseq = field.name == "CSeq";
            ack.headers.add(field.name, to     ? event.core.to.write()
                                        : cseq ? fmt::format("{} ACK", event.core.cseq.number)
                                               : field.value);
        }
        hold(transaction, write(ack));
        transaction.state = State::kCompleted;
        events_.push_back(event);
    }
    transmit(transaction);
    if (first) {
        end_after(now, transaction, options_.t64());  // timer D
    }
}

void Transactions::on_flow_failed(const Flow& flow) {
    std::vector<TransactionId> ids;
    if (flow.reliable()) {
        for (auto at = by_connection_.lower_bound({flow.connection, 0});
             at != by_connection_.end() && at->first == flow.connection; ++at) {
            ids.push_back(at->second);
        }
    } else {
        for (const auto& [id, transaction] : all_) {
            if (transaction->client && transaction->flow == flow) {
                ids.push_back(id);
            }
        }
    }
    for (const TransactionId id : ids) {
        if (Transaction* const transaction = find(id);
            transaction != nullptr && transaction->flow == flow && !transaction->final_sent()) {
            fail(*transaction, TransactionEvent::Kind::kTransportFailed);
        }
    }
}

// ---- client ----

Via Transactions::new_via(const Flow& flow) {
    Via via;
    via.transport = to_string(flow.transport);
    via.host = host_text(flow.local);
    via.port = flow.local.port();
    via.parameters.set("branch", std::string(kBranchMagic) + random_id(random_, kBranchLength));
    via.parameters.set_flag("rport");
    return via;
}

namespace {

void put_via(Request& request, const Via& via) {
    http::Fields fields;
    fields.add("Via", via.write());
    if (!request.headers.has("Max-Forwards")) {
        fields.add("Max-Forwards", fmt::format("{}", kDefaultMaxForwards));
    }
    for (const http::Field& field : request.headers) {
        fields.add(field.name, field.value);
    }
    request.headers = std::move(fields);
}

}  // namespace

TransactionId Transactions::send_request(MonoTime now,
                                         Request request,
                                         const Flow& flow,
                                         uint64_t user) {
    const Via via = new_via(flow);
    put_via(request, via);
    std::string bytes = write(request);
    if (!has_room(bytes.size())) {
        return 0;
    }
    const std::string_view name = request.method == Method::kUnknown
                                      ? std::string_view(request.method_name)
                                      : to_string(request.method);
    Transaction& added = add(client_key(via.branch(), name), true, flow);
    added.user = user;
    added.invite = request.method == Method::kInvite;
    if (added.invite) {
        added.ids = fields_with(request.headers,
                                {"Via", "Max-Forwards", "Route", "From", "To", "Call-ID", "CSeq"});
        added.uri = std::move(request.uri);
    }
    transmits_.push_back({flow, bytes});
    if (!flow.reliable()) {
        hold(added, std::move(bytes));
        added.interval = options_.t1;
        added.resend_at = now + added.interval;  // timers A and E
    } else {
        hold(added, {});
    }
    added.end_at = now + options_.t64();  // timers B and F
    plan(added);
    return added.id;
}

std::string Transactions::send_ack(Request request, const Flow& flow) {
    put_via(request, new_via(flow));
    std::string bytes = write(request);
    send_bytes(bytes, flow);
    return bytes;
}

void Transactions::send_bytes(std::string bytes, const Flow& flow) {
    transmits_.push_back({flow, std::move(bytes)});
}

bool Transactions::cancel(MonoTime now, TransactionId invite) {
    Transaction* const transaction = find(invite);
    if (transaction == nullptr || !transaction->client || !transaction->invite ||
        transaction->cancelled || transaction->state != State::kProceeding) {
        return false;
    }
    // RFC 3261 §9.1: the Via of the INVITE alone, its From, To, Call-ID, Route and number.
    Request request;
    request.method = Method::kCancel;
    request.uri = transaction->uri;
    std::string branch;
    for (const http::Field& field : transaction->ids) {
        if (field.name == "Via") {
            branch = Via::parse(field.value).value_or(Via()).branch();
        }
        const std::optional<CSeq> cseq =
            field.name == "CSeq" ? CSeq::parse(field.value) : std::nullopt;
        request.headers.add(field.name,
                            cseq ? fmt::format("{} CANCEL", cseq->number) : field.value);
    }
    transaction->cancelled = true;
    transaction->end_at = now + options_.t64();
    plan(*transaction);
    std::string bytes = write(request);
    const Flow flow = transaction->flow;
    transmits_.push_back({flow, bytes});
    if (flow.reliable() || !has_room(bytes.size())) {
        return true;
    }
    Transaction& added = add(client_key(branch, "CANCEL"), true, flow);
    hold(added, std::move(bytes));
    added.silent = true;
    added.interval = options_.t1;
    added.resend_at = now + added.interval;
    added.end_at = now + options_.t64();
    plan(added);
    return true;
}

// ---- server ----

Response Transactions::make_response(TransactionId id, int status, std::string_view reason) const {
    const Transaction* const transaction = find(id);
    if (transaction == nullptr) {
        return {};
    }
    Request request;
    request.headers = transaction->ids;
    return sip::make_response(request, status, reason,
                              status == 100 ? std::string() : transaction->local_tag);
}

std::string_view Transactions::local_tag(TransactionId id) const {
    const Transaction* const transaction = find(id);
    return transaction == nullptr ? std::string_view() : transaction->local_tag;
}

void Transactions::set_user(TransactionId id, uint64_t user) {
    if (Transaction* const transaction = find(id)) {
        transaction->user = user;
    }
}

bool Transactions::respond(MonoTime now, TransactionId id, const Response& response) {
    Transaction* const transaction = find(id);
    if (transaction == nullptr || transaction->client || transaction->final_sent()) {
        return false;
    }
    transaction->trying_at.reset();
    hold(*transaction, write_within(response, transaction->budget.left()));
    transmit(*transaction);
    if (response.status >= 200) {
        complete(now, *transaction, response.status);
    } else {
        transaction->state = State::kProceeding;
        plan(*transaction);
    }
    return true;
}

// Its final answer is sent. The transaction may be gone afterwards.
void Transactions::complete(MonoTime now, Transaction& transaction, int status) {
    transaction.ids = {};  // no other answer follows
    const bool stranger = !transaction.budget.proven();
    const bool success = transaction.invite && status < 300;
    const bool repeats = transaction.state < State::kProceeding;  // the request, if this is lost
    if (stranger && !success && (repeats || strangers_ > options_.max_strangers / 2)) {
        end(transaction);
    } else if (!transaction.invite) {
        transaction.state = State::kCompleted;
        // Timer J. In a storm what is answered leaves early: a repetition that comes later is taken
        // for a new request, which costs another answer.
        end_after(now, transaction, is_crowded() ? options_.t2 : options_.t64());
    } else if (success) {
        transaction.state = State::kAccepted;
        // Timer L. A stranger's has to be there when its BYE is due.
        transaction.end_at = now + options_.t64() + (stranger ? options_.t1 : Millis(0));
        plan(transaction);
    } else {
        transaction.state = State::kCompleted;
        transaction.interval = options_.t1;
        if (!transaction.flow.reliable()) {
            transaction.resend_at = now + transaction.interval;  // timer G
        }
        transaction.end_at = now + options_.t64();  // timer H
        plan(transaction);
    }
}

bool Transactions::respond(MonoTime now, TransactionId id, int status, std::string_view reason) {
    return find(id) != nullptr && respond(now, id, make_response(id, status, reason));
}

bool Transactions::respond_again(TransactionId id) {
    Transaction* const transaction = find(id);
    if (transaction == nullptr || transaction->client || transaction->bytes.empty()) {
        return false;
    }
    if (transaction->budget.left() / 2 < transaction->bytes.size()) {
        held_back_++;  // the rest is for the refusal or the BYE, which has to follow
    } else {
        transmit(*transaction);
    }
    return true;
}

void Transactions::prove(TransactionId id) {
    Transaction* const transaction = find(id);
    if (transaction != nullptr && !transaction->budget.proven()) {
        transaction->budget.prove();
        strangers_--;
    }
}

bool Transactions::send_once(TransactionId invite, Request request) {
    Transaction* const transaction = find(invite);
    if (transaction == nullptr) {
        return false;
    }
    put_via(request, new_via(transaction->flow));
    std::string bytes = write(request);
    if (!transaction->budget.take(bytes.size())) {
        held_back_++;
        return false;
    }
    send_bytes(std::move(bytes), transaction->flow);
    return true;
}

// The same for the same request (RFC 3261 §8.2.7), and nobody else can know it: what has it was
// sent to the address that the request came from.
std::string Transactions::make_tag(std::string_view key,
                                   std::string_view call_id,
                                   const Flow& flow) const {
    const Sha256Digest mac =
        hmac_sha256(tag_key_, as_bytes(key),
                    as_bytes(fmt::format("\n{}\n{}", call_id, flow.remote.to_string())));
    return hex(std::span(mac).first(kTagLength));
}

void Transactions::answer_once(Response response, const Flow& flow, size_t bytes) {
    PathBudget budget;
    budget.note_received(bytes);
    if (flow.reliable()) {
        budget.prove();
    }
    std::string text = write_within(std::move(response), budget.left());
    if (budget.take(text.size())) {
        send_bytes(std::move(text), flow);
    } else {
        held_back_++;
    }
}

void Transactions::refuse(
    const Request& request, const Flow& flow, int status, std::string_view reason, size_t bytes) {
    const std::optional<std::vector<Via>> vias = Via::parse_all(request.headers);
    if (!vias || vias->empty()) {
        return;  // nobody knows where the answer should go
    }
    Via via = vias->front();
    note_source(via, flow);
    Request copy;
    copy.headers = with_top_via(request.headers, via);
    Response response = sip::make_response(copy, status, reason,
                                           make_tag(via.write(), request.header("Call-ID"), flow));
    if (status == 503) {
        response.headers.add("Retry-After", fmt::format("{}", options_.retry_after.count()));
    }
    answer_once(std::move(response), answer_flow(via, flow), bytes);
}

// ---- the table ----

Transactions::Transaction* Transactions::find(TransactionId id) const {
    const auto at = all_.find(id);
    return at == all_.end() ? nullptr : at->second.get();
}

Transactions::Transaction* Transactions::find_server(const CoreHeaders& core,
                                                     std::string_view uri,
                                                     Method method) const {
    const auto at = servers_.find(server_key(core, uri, method));
    return at == servers_.end() ? nullptr : find(at->second);
}

Transactions::Transaction& Transactions::add(std::string key, bool client, const Flow& flow) {
    auto made = std::make_unique<Transaction>();
    Transaction& added = *made;
    added.id = ++last_id_;
    added.client = client;
    added.flow = flow;
    if (client || flow.reliable()) {
        added.budget.prove();
    } else {
        strangers_++;
    }
    (client ? clients_ : servers_)[key] = added.id;
    added.key = std::move(key);
    if (client && flow.reliable()) {
        by_connection_.insert({flow.connection, added.id});
    }
    all_.emplace(added.id, std::move(made));
    return added;
}

bool Transactions::has_room(size_t bytes) const {
    return all_.size() < options_.max_transactions && bytes_ + bytes <= options_.max_bytes;
}

// Counts what the transaction holds.
void Transactions::hold(Transaction& transaction, std::string bytes) {
    transaction.bytes = std::move(bytes);
    const size_t held = transaction.bytes.size() + transaction.key.size() + transaction.uri.size() +
                        bytes_of(transaction.ids);
    bytes_ = bytes_ - transaction.held + held;
    transaction.held = held;
}

void Transactions::end(Transaction& transaction) {
    due_.plan(transaction.id, transaction.planned, std::nullopt);
    bytes_ -= transaction.held;
    strangers_ -= transaction.budget.proven() ? 0U : 1U;
    auto& keys = transaction.client ? clients_ : servers_;
    if (const auto at = keys.find(transaction.key);
        at != keys.end() && at->second == transaction.id) {
        keys.erase(at);
    }
    by_connection_.erase({transaction.flow.connection, transaction.id});
    all_.erase(transaction.id);
}

// Over TCP and TLS nothing comes twice, so the pause is none (RFC 3261 §17). The transaction may be
// gone afterwards.
void Transactions::end_after(MonoTime now, Transaction& transaction, Millis pause) {
    if (transaction.flow.reliable()) {
        end(transaction);
        return;
    }
    transaction.resend_at.reset();
    transaction.end_at = now + pause;
    plan(transaction);
}

// ---- output and time ----

void Transactions::transmit(Transaction& transaction) {
    if (transaction.budget.take(transaction.bytes.size())) {
        transmits_.push_back({transaction.flow, transaction.bytes});
    } else {
        held_back_++;
    }
}

// A stranger who has got it does not repeat its INVITE, so there has to be room for what follows.
void Transactions::on_trying_due(MonoTime now, Transaction& transaction) {
    transaction.trying_at.reset();
    const Response trying = make_response(transaction.id, 100);
    if (transaction.budget.left() / 3 >= write(trying).size()) {
        respond(now, transaction.id, trying);
    }
}

void Transactions::plan(Transaction& transaction) {
    std::optional<MonoTime> at;
    for (const auto& each : {transaction.resend_at, transaction.end_at, transaction.trying_at}) {
        if (each && (!at || *each < *at)) {
            at = each;
        }
    }
    due_.plan(transaction.id, transaction.planned, at);
}

void Transactions::on_due(MonoTime now, Transaction& transaction) {
    if (transaction.end_at && *transaction.end_at <= now) {
        if (transaction.client && !transaction.final_sent()) {
            fail(transaction, TransactionEvent::Kind::kTimeout);
        } else {
            end(transaction);
        }
        return;
    }
    if (transaction.trying_at && *transaction.trying_at <= now) {
        on_trying_due(now, transaction);
    }
    if (transaction.resend_at && *transaction.resend_at <= now) {
        transmit(transaction);
        // An INVITE doubles its pause without end; all else up to T2.
        const bool free = transaction.client && transaction.invite;
        transaction.interval =
            transaction.state == State::kProceeding ? options_.t2 : 2 * transaction.interval;
        if (!free) {
            transaction.interval = std::min(transaction.interval, options_.t2);
        }
        transaction.resend_at = now + transaction.interval;
    }
    plan(transaction);
}

void Transactions::fail(Transaction& transaction, TransactionEvent::Kind kind) {
    TransactionEvent event;
    event.kind = kind;
    event.id = transaction.id;
    event.user = transaction.user;
    event.flow = transaction.flow;
    const bool silent = transaction.silent;
    end(transaction);
    if (!silent) {
        events_.push_back(std::move(event));
    }
}

void Transactions::handle_timeout(MonoTime now) {
    while (const std::optional<TransactionId> id = due_.due(now)) {
        on_due(now, *find(*id));
    }
}

std::optional<MonoTime> Transactions::next_timeout() const {
    return due_.next();
}

std::optional<Transmit> Transactions::poll_transmit() {
    if (transmits_.empty()) {
        return std::nullopt;
    }
    Transmit out = std::move(transmits_.front());
    transmits_.pop_front();
    return out;
}

std::optional<TransactionEvent> Transactions::poll_event() {
    if (events_.empty()) {
        return std::nullopt;
    }
    TransactionEvent out = std::move(events_.front());
    events_.pop_front();
    return out;
}

}  // namespace weir::sip
