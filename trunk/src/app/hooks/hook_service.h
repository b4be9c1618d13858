// The hooks of a server: asks and tells the HTTP servers of http_hooks { }.
//
// Whoever asks waits in its own coroutine, on nothing but the answer; requests run in coroutines of
// this object, in the order that HookSchedule says. So a client may leave at any time: when its
// question is allowed after that, its end is told as well. The configuration is read when an event
// happens; an event on its way keeps what held then.
//
// Lifetime: created before the sessions, stop() after theirs, destroyed when all clients are gone.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "app/hooks/hook_answer.h"
#include "app/hooks/hook_event.h"
#include "app/hooks/hook_schedule.h"
#include "app/hooks/hook_stats.h"
#include "base/log.h"
#include "config/config.h"
#include "io/coroutine.h"
#include "io/resolver.h"
#include "io/signal.h"
#include "net/api/answer.h"
#include "net/hooks.h"
#include "net/http/client.h"

namespace weir::io {
class Deadline;
class TcpStream;
class WorkerPool;
}  // namespace weir::io

namespace weir::net {
class Client;
}

namespace weir::app {

class HookService final : public net::Hooks {
  public:
    // Events that are kept for the notifications to come, with what they hold.
    static constexpr size_t kMaxToldBytes = 32u << 20;

    // `config` and `identity` must outlive this; `config` may change.
    HookService(const config::Config& config,
                const net::ServerIdentity& identity,
                io::ResolverOptions resolver = {});
    ~HookService();  // stop() must have been called
    HookService(const HookService&) = delete;
    HookService& operator=(const HookService&) = delete;

    bool wants(net::HookAction action, const stream::StreamKey& key) const override;
    bool asks(net::HookAction action, const stream::StreamKey& key) const override;
    std::string connect_scope(const stream::StreamKey& key) const override;
    Result<net::HookTicket> ask(const net::Client& client,
                                const net::HookRequestView& what,
                                io::TcpStream* peer) override;

    void tell_record(const net::RecordEventView& file) override;
    void tell_segment(const net::SegmentEventView& segment) override;

    // Reads the secret of a vhost, which may stand in a file; without it, those of the text hold.
    void set_secrets(std::function<std::string(const config::VhostConfig&)> secret_of) {
        secret_of_ = std::move(secret_of);
    }

    // For what blocks when an https:// server is asked first. Must outlive this.
    void set_workers(io::WorkerPool* workers) { http_.set_workers(workers); }

    // Once in a while: closes idle connections.
    void tidy(MonoTime now) { http_.tidy(now); }

    // Yields. Nobody may ask any more. Sends what waits, once, and drops the rest at the deadline.
    void stop(io::Deadline deadline);

    HookStats stats() const;

    const io::ResolverStats& resolver_stats() const { return resolver_.stats(); }

  private:
    class Record;
    class Line;
    struct Targets;
    struct Question;
    struct Task;

    const config::VhostConfig* section_of(std::string_view vhost, std::string_view app) const;
    std::string secret_of(const config::VhostConfig& vhost) const;
    Ref<Targets> targets_of(std::string_view vhost, std::string_view app);
    Ref<HookLine> line_of(std::string_view client_id);
    void tell(Ref<HookLine> line, std::unique_ptr<HookFacts> facts, HookEnd end);
    void note_drop(HookTask& task);
    void go_on();
    void work(HookTask* task);
    void perform(Task& task);
    void answer(Task& task, HookAnswer verdict);
    HookAnswer ask_server(Task& task, const http::Url& url, const std::string& body);
    bool tell_server(Task& task, const http::Url& url, const std::string& body, bool& again);
    Result<http::Response> post(Task& task, const http::Url& url, const std::string& body);
    void log_failure(net::HookAction action, const http::Url& url, std::string_view why);
    void arm_timer();
    void run_timer();
    Result<net::HookTicket> outcome(Question& question,
                                    const net::Client& client,
                                    const Targets& targets);
    Error wait_for(Question& question, io::TcpStream* peer, MonoTime deadline);

    const config::Config& config_;
    const net::ServerIdentity& identity_;
    std::function<std::string(const config::VhostConfig&)> secret_of_;
    io::Resolver resolver_;
    net::HttpClient http_{resolver_};
    HookStats stats_;
    std::unordered_map<std::string, Line*> lines_;  // by client
    HookSchedule schedule_;
    size_t told_bytes_ = 0;
    std::unordered_map<std::string, Ref<Targets>> targets_;  // by vhost, what held last
    io::Signal timer_;
    bool timer_runs_ = false;
    bool stopping_ = false;
    uint64_t dropped_at_stop_ = 0;
    io::Signal finished_;
    io::TaskGroup tasks_;
    log::Throttle failures_{Millis(1000)};
    log::Throttle bare_refusals_{Millis(1000)};
    log::Throttle drops_{Millis(1000)};
};

}  // namespace weir::app
