#include "io/srt/srt_engine.h"

#include <cerrno>
#include <thread>
#include <unordered_map>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include <pthread.h>

#include "base/log.h"
#include "io/deadline.h"
#include "io/reactor.h"
#include "io/signal.h"
#include "io/signal_stack.h"
#include "io/signals_blocked.h"
#include "io/socket_address.h"
#include "io/srt/srt_bridge.h"
#include "io/srt/srt_worker.h"

namespace weir::io {
namespace {

constexpr Seconds kStartTime{20};

std::string_view reason_text(SrtHandshakes::Why why) {
    switch (why) {
        case SrtHandshakes::Why::kOverload: return "too many handshakes";
        case SrtHandshakes::Why::kFull: return "srt_server max_connections is reached";
        case SrtHandshakes::Why::kAddress:
            return "its address has srt_server max_connections_per_ip connections";
        case SrtHandshakes::Why::kStreamId:
            return "its stream id is malformed or names no APP/STREAM";
        case SrtHandshakes::Why::kVhost: return "its vhost is not there or disabled";
        case SrtHandshakes::Why::kUnheard:
            return "not answered for some seconds, as too many of its address were refused, or the "
                   "memory of those that are not let in is used up";
    }
    return "refused";
}

}  // namespace

struct SrtEngine::Impl final : EventHandler {
    explicit Impl(SrtSink* to) : sink(to) {}

    ~Impl();

    Error begin();
    void on_ready(uint8_t) override;

    void take(SrtReadyEvent& event);
    void take(SrtNewcomerEvent& event);
    void take(SrtConnectedEvent& event);
    void take(SrtDataEvent& event);
    void take(SrtStatsEvent& event);
    void take(SrtEndEvent& event);
    void take(SrtListenFailedEvent& event);
    void take(SrtFailedHandshakesEvent& event);
    void take(SrtRefusedHandshakesEvent& event);

    SrtPeer* find(SrtId id) const {
        const auto found = peers.find(id);
        return found == peers.end() ? nullptr : found->second;
    }

    SrtSink* sink;
    SrtBridge bridge;
    Registration registration;
    std::thread thread;
    bool ready = false;
    std::string why_not;
    Signal started;
    std::unordered_map<SrtId, SrtPeer*> peers;
    uint32_t listeners = 0;
    SrtId calls = 0;
    std::vector<SrtEvent> events;
    log::Throttle failed_handshakes{Millis(1000)};
    log::Throttle refused_handshakes{Millis(1000)};
};

SrtEngine::Impl::~Impl() {
    if (thread.joinable()) {
        bridge.stop();
        thread.join();
    }
    registration.remove();
}

Error SrtEngine::Impl::begin() {
    bridge.event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (bridge.event_fd < 0) {
        return Error::from_errno(errno, "eventfd");
    }
    WEIR_TRY_ASSIGN(registration, Registration::add(bridge.event_fd, *this));
    const SignalsBlocked blocked;  // inherited by the thread, and by those that libsrt makes there
    thread = std::thread([this] {
        pthread_setname_np(pthread_self(), "weir-srt");
        const SignalStack signal_stack;
        run_srt_worker(bridge);
    });
    return {};
}

// ---- events ----

void SrtEngine::Impl::on_ready(uint8_t) {
    uint64_t count = 0;
    (void)!read(bridge.event_fd, &count, sizeof count);
    events.clear();
    bridge.take_events(events);
    for (SrtEvent& event : events) {
        std::visit([this](auto& each) { take(each); }, event);
    }
    events.clear();
}

void SrtEngine::Impl::take(SrtReadyEvent& event) {
    ready = event.why_not.empty();
    why_not = std::move(event.why_not);
    started.notify_all();
}

void SrtEngine::Impl::take(SrtNewcomerEvent& event) {
    if (sink != nullptr) {
        sink->on_srt_newcomer(std::move(event.newcomer));
    } else {
        bridge.command(SrtCloseCommand{event.newcomer.id});
    }
}

void SrtEngine::Impl::take(SrtConnectedEvent& event) {
    if (SrtPeer* const peer = find(event.id)) {
        peer->on_srt_connected(event.encrypted);
    }
}

void SrtEngine::Impl::take(SrtDataEvent& event) {
    if (SrtPeer* const peer = find(event.id)) {
        peer->on_srt_data(event.data);
    }
}

void SrtEngine::Impl::take(SrtStatsEvent& event) {
    if (SrtPeer* const peer = find(event.id)) {
        peer->on_srt_stats(event.stats);
    }
}

void SrtEngine::Impl::take(SrtEndEvent& event) {
    if (SrtPeer* const peer = find(event.id)) {
        peers.erase(event.id);
        peer->on_srt_stats(event.last);
        peer->on_srt_end(std::move(event.why));
    }
}

void SrtEngine::Impl::take(SrtListenFailedEvent& event) {
    log::error("srt: cannot listen: {}", event.why);
}

void SrtEngine::Impl::take(SrtFailedHandshakesEvent& event) {
    log::throttled(failed_handshakes, log::Level::kWarn,
                   "srt handshake failed ip={}: wrong passphrase, or the client gave up",
                   log::token(event.peer));
}

void SrtEngine::Impl::take(SrtRefusedHandshakesEvent& event) {
    log::throttled(refused_handshakes, log::Level::kWarn, "srt handshake refused ip={}: {}",
                   log::token(event.peer), reason_text(event.why));
}

// ---- the interface ----

SrtEngine::SrtEngine(SrtSink* sink) : impl_(std::make_unique<Impl>(sink)) {}

SrtEngine::~SrtEngine() = default;

bool SrtEngine::built() {
    return srt_worker_built();
}

bool SrtEngine::started() const {
    return impl_->ready;
}

Error SrtEngine::start() {
    if (!built()) {
        return make_error(ErrorCode::kUnsupported,
                          "this build has no SRT: ./configure --srt=on makes one that has");
    }
    if (!impl_->thread.joinable()) {
        WEIR_TRY(impl_->begin());
    }
    const Deadline deadline = Deadline::after(kStartTime);
    while (!impl_->ready && impl_->why_not.empty()) {
        WEIR_TRY(impl_->started.wait_until(deadline, "libsrt"));
    }
    return impl_->ready ? Error() : make_error(ErrorCode::kUnsupported, "{}", impl_->why_not);
}

void SrtEngine::set_gate(std::shared_ptr<const SrtGate> gate) {
    impl_->bridge.handshakes.set_gate(std::move(gate));
}

void SrtEngine::set_limits(const SrtLimits& limits) {
    impl_->bridge.handshakes.set_limits(limits);
}

uint32_t SrtEngine::listen(int fd) {
    impl_->bridge.command(SrtListenCommand{++impl_->listeners, fd});
    return impl_->listeners;
}

void SrtEngine::unlisten(uint32_t listener) {
    impl_->bridge.command(SrtUnlistenCommand{listener});
}

// Calls have odd numbers, newcomers even ones.
SrtId SrtEngine::connect(const SocketAddress& to, const SrtOptions& options, SrtPeer& peer) {
    const SrtId id = 2 * ++impl_->calls + 1;
    impl_->peers[id] = &peer;
    impl_->bridge.command(SrtConnectCommand{id, to, options});
    return id;
}

void SrtEngine::attach(SrtId id, SrtPeer& peer) {
    impl_->peers[id] = &peer;
}

void SrtEngine::admit(SrtId id, const SrtSendLimits& limits) {
    impl_->bridge.command(SrtAdmitCommand{id, limits});
}

void SrtEngine::close(SrtId id) {
    impl_->peers.erase(id);
    impl_->bridge.command(SrtCloseCommand{id});
}

void SrtEngine::send(std::span<const SrtId> to, SrtBytes bytes) {
    if (!to.empty() && bytes && !bytes->empty()) {
        const size_t size = bytes->size();
        impl_->bridge.command(SrtSendCommand{{to.begin(), to.end()}, std::move(bytes)}, size);
    }
}

SrtCounters SrtEngine::counters() const {
    const SrtAtomicCounters& from = impl_->bridge.counters;
    SrtCounters out;
    out.handshakes = from.handshakes;
    out.refused_overload = from.refused_overload;
    out.refused_full = from.refused_full;
    out.refused_address = from.refused_address;
    out.unheard = from.unheard;
    out.refused_gate = from.refused_gate;
    out.failed_handshakes = from.failed_handshakes;
    out.accepted = from.accepted;
    out.unread_dropped = from.unread_dropped;
    out.unsent_dropped = from.unsent_dropped;
    out.slow = from.slow;
    out.connections = from.connections;
    out.listeners = from.listeners;
    return out;
}

}  // namespace weir::io
