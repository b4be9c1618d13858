#include "app/hooks/hook_service.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "app/hooks/hook_service_types.h"
#include "base/random.h"
#include "io/deadline.h"
#include "io/reactor.h"
#include "io/tcp.h"
#include "net/client_table.h"

namespace weir::app {

using net::HookAction;
using Verdict = HookAnswer::Verdict;

namespace {

constexpr size_t kMaxRememberedSections = 256;
constexpr Millis kLastAttempt{400};  // of what is left when the server stops

// Waits for the end of a peer besides the answer.
class PeerWatch final : private io::EventHandler {
  public:
    PeerWatch(io::TcpStream* peer, io::Signal& signal) : peer_(peer), signal_(signal) {
        if (peer_ != nullptr) {
            peer_->set_handler(this);
        }
    }

    ~PeerWatch() {
        if (peer_ != nullptr) {
            peer_->set_handler(nullptr);
        }
    }

    PeerWatch(const PeerWatch&) = delete;
    PeerWatch& operator=(const PeerWatch&) = delete;

    bool gone() const { return peer_ != nullptr && peer_->hangup(); }

  private:
    void on_ready(uint8_t) override {
        if (gone()) {
            signal_.notify_all();
        }
    }

    io::TcpStream* peer_;
    io::Signal& signal_;
};

}  // namespace

HookService::HookService(const config::Config& config,
                         const net::ServerIdentity& identity,
                         io::ResolverOptions resolver)
    : config_(config),
      identity_(identity),
      resolver_(std::move(resolver)),
      schedule_(system_random(), [this](HookTask& task) { note_drop(task); }) {}

HookService::~HookService() {
    schedule_.drop_all();
}

// ---- what is configured ----

// Null when nothing is configured there.
const config::VhostConfig* HookService::section_of(std::string_view vhost,
                                                   std::string_view app) const {
    const config::VhostConfig* found = config_.find_settings(vhost, app);
    return found != nullptr && found->http_hooks.enabled ? found : nullptr;
}

bool HookService::wants(HookAction action, const stream::StreamKey& key) const {
    const config::VhostConfig* section = section_of(key.vhost, key.app);
    return section != nullptr &&
           (section->http_hooks.has(action) || section->http_hooks.has(closing_of(action)));
}

// The same servers, asked about the same app of the same vhost.
std::string HookService::connect_scope(const stream::StreamKey& key) const {
    const config::VhostConfig* section = section_of(key.vhost, key.app);
    if (section == nullptr || !section->http_hooks.has(HookAction::kConnect)) {
        return {};
    }
    std::string scope = fmt::format("{}\n{}\n", section->section(), key.app);
    for (const http::Url& url : section->http_hooks.urls_of(HookAction::kConnect)) {
        scope += url.origin() + url.target + " ";
    }
    return scope;
}

std::string HookService::secret_of(const config::VhostConfig& vhost) const {
    return secret_of_ ? secret_of_(vhost) : vhost.http_hooks.secret.text;
}

bool HookService::asks(HookAction action, const stream::StreamKey& key) const {
    const config::VhostConfig* section = section_of(key.vhost, key.app);
    return section != nullptr && section->http_hooks.has(action);
}

// Null when nothing is configured.
Ref<HookService::Targets> HookService::targets_of(std::string_view vhost, std::string_view app) {
    const config::VhostConfig* section = section_of(vhost, app);
    if (section == nullptr) {
        return nullptr;
    }
    const config::HttpHooksConfig* hooks = &section->http_hooks;
    std::string secret = secret_of(*section);
    if (targets_.size() > kMaxRememberedSections) {
        targets_.clear();
    }
    Ref<Targets>& kept = targets_[section->section()];
    if (!kept || kept->config != *hooks || kept->secret != secret) {
        kept = make_ref<Targets>(*hooks, std::move(secret));
    }
    return kept;
}

Ref<HookLine> HookService::line_of(std::string_view client_id) {
    const std::string id(client_id);
    const auto found = lines_.find(id);
    return found != lines_.end() ? Ref<HookLine>(found->second) : make_ref<Line>(*this, id);
}

// ---- questions ----

Result<net::HookTicket> HookService::ask(const net::Client& client,
                                         const net::HookRequestView& what,
                                         io::TcpStream* peer) {
    if (stopping_ || io::interrupted()) {
        return make_error(ErrorCode::kInterrupted, "the server is stopping");
    }
    const Ref<Targets> targets = targets_of(what.vhost, what.app);
    if (!targets ||
        !(targets->config.has(what.action) || targets->config.has(closing_of(what.action)))) {
        return net::HookTicket();
    }
    auto record = std::make_unique<Record>(
        *this, line_of(client.id()), HookFacts(client.id(), client.ip(), client.transport(), what));
    if (!targets->config.has(what.action)) {
        record->arm(&client);
        return net::HookTicket(std::move(record));
    }
    const auto question = make_ref<Question>();
    question->record = std::move(record);
    auto task = std::make_unique<Task>();
    task->asks = true;
    task->action = what.action;
    task->targets = targets;
    task->lane = targets->lane_of(what.action);
    task->event_id = random_id(system_random(), kEventIdLength);
    task->time_ms = wall_time_ms();
    task->question = question;
    task->deadline = MonoClock::now() + targets->config.timeout;
    question->task = task.get();
    const MonoTime deadline = task->deadline;
    const Ref<HookLine> line = line_of(client.id());
    schedule_.add(*line, std::move(task));
    stats_.asking++;
    Error ended = wait_for(*question, peer, deadline);
    stats_.asking--;
    if (ended) {
        return ended;
    }
    return outcome(*question, client, *targets);
}

// Success: answered, or the time is over.
Error HookService::wait_for(Question& question, io::TcpStream* peer, MonoTime deadline) {
    io::Signal signal;
    question.waiter = &signal;
    Error ended;
    {
        const PeerWatch watch(peer, signal);
        go_on();
        while (question.task != nullptr && !ended && !watch.gone()) {
            ended = signal.wait_until(io::Deadline::at(deadline));
        }
        if (question.task != nullptr && !ended) {
            ended = make_error(ErrorCode::kClosed, "the client hung up while a hook was asked");
        }
    }
    question.waiter = nullptr;
    if (question.task == nullptr) {
        return {};
    }
    if (ended.code() == ErrorCode::kTimeout) {
        // A request that is under way ends at the same moment; should it be allowed yet, its end
        // is told at once.
        question.answer.verdict = Verdict::kError;
        question.answer.text = "no answer in time";
        question.answer.late = true;
        ended = {};
    }
    const Task& task = *question.task;
    const HookAction action = task.action;
    const Ref<Targets> targets = task.targets;
    if (schedule_.cancel(*question.task)) {
        question.task = nullptr;
        if (!ended) {
            stats_.of(action).failed++;
            log_failure(action, targets->config.urls_of(action).front(),
                        "no answer in time, since too many wait for one");
        }
    }
    return ended;
}

Result<net::HookTicket> HookService::outcome(Question& question,
                                             const net::Client& client,
                                             const Targets& targets) {
    HookCounters& counters = stats_.of(question.record->facts().action);
    switch (question.answer.verdict) {
        case Verdict::kAllow:
            counters.allowed++;
            question.record->arm(&client);
            return net::HookTicket(std::move(question.record));
        case Verdict::kRefuse:
            counters.refused++;
            return make_error(
                ErrorCode::kDenied, "{}",
                question.answer.text.empty() ? "refused by the hook server" : question.answer.text);
        case Verdict::kError: break;
    }
    if (targets.config.allow_on_error) {
        // The request that is still under way must not tell an end of its own.
        question.record->arm(&client);
        return net::HookTicket(std::move(question.record));
    }
    counters.refused++;
    return make_error(question.answer.late ? ErrorCode::kTimeout : ErrorCode::kUnavailable,
                      "refused: the hook server that has to allow it is out of order");
}

void HookService::stop(io::Deadline deadline) {
    stopping_ = true;
    const io::Deadline last =
        io::Deadline::at(std::min(deadline.time(), MonoClock::now() + kLastAttempt));
    schedule_.hurry();
    go_on();
    while (schedule_.running() > 0 && !last.passed()) {
        (void)finished_.wait_until(last).code();
    }
    schedule_.drop_all();
    tasks_.interrupt_all();
    if (Error late = tasks_.join_all(io::Deadline::after(kLastAttempt))) {
        log::error("stopping the hooks: {}", late.message());
    }
    schedule_.drop_all();
    if (const uint64_t dropped = std::exchange(dropped_at_stop_, 0); dropped > 0) {
        log::warn("hooks: {} notifications could not be told before the end", dropped);
    }
}

HookStats HookService::stats() const {
    HookStats stats = stats_;
    stats.queued = schedule_.told();
    return stats;
}

}  // namespace weir::app
