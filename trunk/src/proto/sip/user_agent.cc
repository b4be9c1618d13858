#include "proto/sip/user_agent.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "proto/sip/call.h"
#include "proto/sip/uri.h"

namespace weir::sip {
namespace {

constexpr std::array<std::string_view, 2> kExtensions = {"100rel", "timer"};

std::string dialog_key(std::string_view call_id, std::string_view local_tag) {
    return fmt::format("{}\n{}", call_id, local_tag);
}

// RFC 3261 §8.2.2.2: the same request on two ways.
std::string merge_key(const CoreHeaders& core) {
    return fmt::format("{}\n{}\n{}", core.call_id, core.from.tag(), core.cseq.number);
}

std::vector<std::string> unsupported(const http::Fields& headers) {
    std::vector<std::string> tags = option_tags(headers, "Require");
    std::erase_if(tags, [](const std::string& tag) {
        return std::ranges::any_of(
            kExtensions, [&](std::string_view known) { return equals_ignore_case(known, tag); });
    });
    return tags;
}

bool has_known_scheme(std::string_view uri) {
    const std::string_view scheme = uri.substr(0, uri.find(':'));
    return equals_ignore_case(scheme, "sip") || equals_ignore_case(scheme, "sips") ||
           equals_ignore_case(scheme, "tel");
}

}  // namespace

UserAgent::UserAgent(UserAgentOptions options, RandomSource& random)
    : options_(std::move(options)), random_(random), transactions_(options_.transactions, random) {}

UserAgent::~UserAgent() = default;

void UserAgent::on_parsed(MonoTime now, Parsed parsed, const Flow& flow) {
    if (parsed.kind == Parsed::Kind::kMessage) {
        transactions_.on_message(now, std::move(parsed.message), flow, parsed.bytes);
    } else if (parsed.kind == Parsed::Kind::kMalformed) {
        transactions_.on_malformed(parsed, flow);
    }
    work(now);
}

void UserAgent::on_flow_failed(MonoTime now, const Flow& flow) {
    transactions_.on_flow_failed(flow);
    work(now);
}

void UserAgent::work(MonoTime now) {
    while (std::optional<TransactionEvent> event = transactions_.poll_event()) {
        on_event(now, std::move(*event));
    }
}

void UserAgent::on_event(MonoTime now, TransactionEvent event) {
    using Kind = TransactionEvent::Kind;
    if (event.kind == Kind::kRequest) {
        on_request(now, std::move(event));
        return;
    }
    if (event.kind == Kind::kAck) {
        if (Call* const call = find_dialog(event.core)) {
            call->on_ack(now, event);
            settle(*call);
        }
        return;
    }
    const bool of_call = (event.user & 1U) != 0;
    Call* const call = of_call ? find(event.user >> 1U) : nullptr;
    if (call == nullptr) {
        if (!of_call) {
            on_owner_event(std::move(event));
        }
        return;
    }
    switch (event.kind) {
        case Kind::kCancel: call->on_cancel(now, event.id); break;
        case Kind::kResponse: call->on_response(now, event); break;
        case Kind::kTimeout:
        case Kind::kTransportFailed: call->on_unanswered(now, event); break;
        default: break;
    }
    settle(*call);
}

void UserAgent::on_owner_event(TransactionEvent event) {
    using Kind = TransactionEvent::Kind;
    CallEvent out;
    out.user = event.user >> 1U;
    out.flow = event.flow;
    if (event.kind == Kind::kResponse && event.response.status >= 200) {
        out.kind = CallEvent::Kind::kResponse;
        out.status = event.response.status;
        out.response = std::move(event.response);
    } else if (event.kind == Kind::kTimeout || event.kind == Kind::kTransportFailed) {
        out.kind = CallEvent::Kind::kRequestFailed;
        out.status = event.kind == Kind::kTimeout ? 408 : 503;
    } else {
        return;
    }
    events_.push_back(std::move(out));
}

// What is wrong whatever it is for (RFC 3261 §8.2). True: it was answered.
bool UserAgent::refuse_early(MonoTime now, const TransactionEvent& event) {
    const Request& request = event.request;
    if (request.method == Method::kUnknown) {
        answer(now, event.id, 501, {{"Allow", std::string(kAllow)}});
        return true;
    }
    if (!has_known_scheme(request.uri)) {
        answer(now, event.id, 416);
        return true;
    }
    const std::optional<SipUri> uri = SipUri::parse(request.uri);
    if (!uri || !uri->headers.empty()) {  // §19.1.1: no headers in a Request-URI
        answer(now, event.id, 400);
        return true;
    }
    if (const std::vector<std::string> tags = unsupported(request.headers); !tags.empty()) {
        answer(now, event.id, 420, {{"Unsupported", join(tags, ", ")}});
        return true;
    }
    return false;
}

void UserAgent::answer(MonoTime now, TransactionId id, int status, const http::Fields& headers) {
    respond(now, id, status, headers);
}

void UserAgent::on_request(MonoTime now, TransactionEvent event) {
    if (refuse_early(now, event)) {
        return;
    }
    if (event.core.to.tag().empty()) {
        on_outside_request(now, std::move(event));
        return;
    }
    Call* const call = find_dialog(event.core);
    if (call == nullptr) {
        answer(now, event.id, 481);
        return;
    }
    if (!call->on_request(now, event)) {
        answer(now, event.id, 481);
    }
    settle(*call);
}

void UserAgent::on_outside_request(MonoTime now, TransactionEvent event) {
    switch (event.request.method) {
        case Method::kInvite: on_invite(now, std::move(event)); break;
        case Method::kRegister:
        case Method::kOptions:
        case Method::kMessage: {
            CallEvent out;
            out.kind = CallEvent::Kind::kRequest;
            out.transaction = event.id;
            out.request = std::move(event.request);
            out.flow = event.flow;
            events_.push_back(std::move(out));
            break;
        }
        case Method::kBye:
        case Method::kPrack:
        case Method::kUpdate:
        case Method::kInfo: answer(now, event.id, 481); break;
        case Method::kRefer: answer(now, event.id, 603); break;
        case Method::kNotify:
        case Method::kSubscribe:
        case Method::kPublish: answer(now, event.id, 489); break;
        default: answer(now, event.id, 405, {{"Allow", std::string(kAllow)}}); break;
    }
}

void UserAgent::on_invite(MonoTime now, TransactionEvent event) {
    std::string key = merge_key(event.core);
    const TransactionId id = event.id;
    std::optional<std::string> sdp = sdp_of(event.request);
    const std::string_view local_tag = transactions_.local_tag(id);
    if (invites_.contains(key) ||
        dialogs_.contains(dialog_key(event.core.call_id, local_tag))) {  // its call is there still
        answer(now, id, 482);
        return;
    }
    if (calls_.size() >= options_.max_calls) {
        answer(now, id, 503,
               {{"Retry-After", fmt::format("{}", transactions_.options().retry_after.count())}});
        return;
    }
    if (!sdp) {
        answer(now, id, 415, {{"Accept", std::string(kSdpType)}});
        return;
    }
    auto made = std::make_unique<Call>(++last_id_, context());
    Call& call = *made;
    transactions_.set_user(id, user_of_call(call.id()));
    if (!call.invited(now, std::move(event), std::move(*sdp))) {
        return;
    }
    call.merge_key = std::move(key);
    invites_[call.merge_key] = call.id();
    dialogs_[dialog_key(call.call_id_text(), call.local_tag())] = call.id();
    calls_.emplace(call.id(), std::move(made));
    settle(call);
}

CallId UserAgent::call(MonoTime now, const CallTarget& target) {
    if (calls_.size() >= options_.max_calls) {
        return 0;
    }
    auto made = std::make_unique<Call>(++last_id_, context());
    Call& call = *made;
    if (!call.start(now, target)) {
        return 0;
    }
    dialogs_[dialog_key(call.call_id_text(), call.local_tag())] = call.id();
    calls_.emplace(call.id(), std::move(made));
    settle(call);
    return call.id();
}

CallContext UserAgent::context() {
    return {options_, random_, transactions_, events_};
}

Call* UserAgent::find(CallId id) const {
    const auto at = calls_.find(id);
    return at == calls_.end() ? nullptr : at->second.get();
}

Call* UserAgent::find_dialog(const CoreHeaders& core) const {
    const auto at = dialogs_.find(dialog_key(core.call_id, core.to.tag()));
    return at == dialogs_.end() ? nullptr : find(at->second);
}

// After each step of a call: its next time, and its end. The call may be gone afterwards.
void UserAgent::settle(Call& call) {
    if (!call.merge_key.empty() && !call.waits_for_answer()) {
        invites_.erase(call.merge_key);
        call.merge_key = {};
    }
    if (!call.gone()) {
        due_.plan(call.id(), call.planned, call.next_timeout());
        return;
    }
    due_.plan(call.id(), call.planned, std::nullopt);
    dialogs_.erase(dialog_key(call.call_id_text(), call.local_tag()));
    calls_.erase(call.id());
}

template <typename Step>
bool UserAgent::step(CallId id, Step&& what) {
    Call* const call = find(id);
    if (call == nullptr) {
        return false;
    }
    const bool done = what(*call);
    settle(*call);
    return done;
}

bool UserAgent::ring(MonoTime now, CallId id, int status, std::string sdp) {
    return step(id, [&](Call& call) { return call.ring(now, status, std::move(sdp)); });
}

bool UserAgent::accept(MonoTime now, CallId id, std::string sdp) {
    return step(id, [&](Call& call) { return call.accept(now, std::move(sdp)); });
}

bool UserAgent::reject(MonoTime now, CallId id, int status, const http::Fields& headers) {
    return step(id, [&](Call& call) { return call.reject(now, status, headers); });
}

bool UserAgent::prove(CallId id) {
    return step(id, [](Call& call) {
        call.prove();
        return true;
    });
}

bool UserAgent::hang_up(MonoTime now, CallId id) {
    return step(id, [&](Call& call) { return call.hang_up(now); });
}

bool UserAgent::offer(MonoTime now, CallId id, std::string sdp) {
    return step(id, [&](Call& call) { return call.offer(now, std::move(sdp)); });
}

bool UserAgent::answer_offer(MonoTime now, CallId id, std::string sdp) {
    return step(id, [&](Call& call) { return call.answer_offer(now, std::move(sdp)); });
}

bool UserAgent::refuse_offer(MonoTime now, CallId id, int status) {
    return step(id, [&](Call& call) { return call.refuse_offer(now, status); });
}

bool UserAgent::send_info(MonoTime now, CallId id, std::string type, std::string body) {
    return step(id,
                [&](Call& call) { return call.send_info(now, std::move(type), std::move(body)); });
}

bool UserAgent::ask(MonoTime now, CallId id) {
    return step(id, [&](Call& call) { return call.ask(now); });
}

MonoTime UserAgent::heard(CallId id) const {
    const Call* const call = find(id);
    return call == nullptr ? MonoTime() : call->heard();
}

bool UserAgent::send_request(MonoTime now, Request request, const Flow& flow, uint64_t user) {
    if (!options_.product.empty() && !request.headers.has("User-Agent")) {
        request.headers.add("User-Agent", options_.product);
    }
    return transactions_.send_request(now, std::move(request), flow, user_of_owner(user)) != 0;
}

bool UserAgent::respond(MonoTime now,
                        TransactionId transaction,
                        int status,
                        const http::Fields& headers,
                        std::string body) {
    Response response = transactions_.make_response(transaction, status);
    for (const http::Field& field : headers) {
        response.headers.add(field.name, field.value);
    }
    if (!options_.product.empty()) {
        response.headers.add("Server", options_.product);
    }
    response.body = std::move(body);
    return transactions_.respond(now, transaction, response);
}

void UserAgent::handle_timeout(MonoTime now) {
    transactions_.handle_timeout(now);
    work(now);
    while (const std::optional<CallId> id = due_.due(now)) {
        Call& call = *find(*id);
        call.handle_timeout(now);
        settle(call);
    }
}

std::optional<MonoTime> UserAgent::next_timeout() const {
    const std::optional<MonoTime> a = transactions_.next_timeout();
    const std::optional<MonoTime> b = due_.next();
    return a && b ? std::min(*a, *b) : a ? a : b;
}

std::optional<CallEvent> UserAgent::poll_event() {
    if (events_.empty()) {
        return std::nullopt;
    }
    CallEvent out = std::move(events_.front());
    events_.pop_front();
    return out;
}

std::string_view UserAgent::call_id_text(CallId id) const {
    const Call* const call = find(id);
    return call == nullptr ? std::string_view() : call->call_id_text();
}

}  // namespace weir::sip
