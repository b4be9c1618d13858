// SRT server: listeners, and one coroutine per connection. A player keeps its coroutine too: what
// libsrt needs for a connection is a hundred times more, and one owner is simpler.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "io/coroutine.h"
#include "io/resolver.h"
#include "io/srt/srt_engine.h"
#include "io/udp.h"
#include "net/admission.h"
#include "net/datagram_ports.h"
#include "net/services.h"
#include "session/srt/srt_pump.h"
#include "session/srt/srt_rules.h"

namespace weir::io {
class Deadline;
class SocketAddress;
}  // namespace weir::io

namespace weir::session {

// Sums over all connections that there were, as far as they were sampled.
struct SrtTotals {
    uint64_t sent_bytes = 0;
    uint64_t received_bytes = 0;
    uint64_t lost = 0;
    uint64_t retransmitted = 0;
    uint64_t dropped = 0;
};

class SrtServer final : public net::DatagramPorts, private io::SrtSink {
  public:
    // libsrt keeps a port for 4 to 5 seconds after its listener and last connection have ended.
    static constexpr Seconds kPortKept{7};

    explicit SrtServer(const net::Services& services) : services_(services), engine_(this) {}

    ~SrtServer();  // stop() must have been called
    SrtServer(const SrtServer&) = delete;
    SrtServer& operator=(const SrtServer&) = delete;

    // Yields: loads libsrt. Before the first serve(). kUnsupported: there is none.
    Error start() { return engine_.start(); }

    // For handshakes from now on.
    void set_rules(std::shared_ptr<const SrtRules> rules) {
        rules_ = rules;
        engine_.set_gate(std::move(rules));
    }

    const SrtRules& rules() const { return *rules_; }

    // For a drain: no new connection; those that are there go on.
    void stop_accepting();

    // Yields. Ends every connection.
    Error stop(io::Deadline deadline);

    const net::Services& services() const { return services_; }

    net::Admission& admission() { return admission_; }

    io::SrtEngine& engine() { return engine_; }

    const io::SrtEngine& engine() const { return engine_; }

    // For hosts of sources and forwards.
    io::Resolver& resolver() { return resolver_; }

    // The pump of a stream's players. kInterrupted, kSystem: there is none.
    Result<SrtPump*> pump_for(const stream::StreamKey& key, const net::PlayRules& rules);

    SrtTotals& totals() { return totals_; }

    const SrtTotals& totals() const { return totals_; }

    // A connection that neither published nor played; throttled.
    void log_rejected(std::string_view ip, std::string_view why);

    // net::DatagramPorts
    Error serve(std::unique_ptr<io::UdpSocket> socket) override;
    void retire(const io::UdpSocket& socket) override;

    io::UdpSocket* revive(const io::SocketAddress&) override { return nullptr; }

    size_t retired() const override;
    void close_unused() override;

    size_t sessions() const override { return connections_.size(); }

  private:
    struct Port {
        std::unique_ptr<io::UdpSocket> socket;  // names it; libsrt reads and writes
        uint32_t listener = 0;
    };

    void on_srt_newcomer(io::SrtNewcomer newcomer) override;

    net::Services services_;
    net::Admission admission_{services_};
    io::SrtEngine engine_;
    // Shared with libsrt's threads.
    std::shared_ptr<const SrtRules> rules_ =
        std::make_shared<const SrtRules>(std::vector<SrtVhost>());
    io::Resolver resolver_;
    std::vector<Port> ports_;
    MonoTime last_retired_{};
    io::TaskGroup connections_;
    SrtTotals totals_;
    bool stopping_ = false;
    log::Throttle throttle_{Millis(1000)};
};

}  // namespace weir::session
