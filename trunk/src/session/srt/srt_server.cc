#include "session/srt/srt_server.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "io/deadline.h"
#include "io/udp.h"
#include "net/fanout.h"
#include "session/srt/srt_connection.h"

namespace weir::session {

SrtServer::~SrtServer() {
    WEIR_CHECK(connections_.size() == 0);
}

// ---- listeners ----

Error SrtServer::serve(std::unique_ptr<io::UdpSocket> socket) {
    WEIR_TRY(engine_.started() ? Error() : make_error(ErrorCode::kInternal, "libsrt not loaded"));
    WEIR_TRY_ASSIGN(const int fd, socket->lend());
    ports_.push_back({std::move(socket), engine_.listen(fd)});
    return {};
}

void SrtServer::retire(const io::UdpSocket& socket) {
    const auto found = std::ranges::find_if(
        ports_, [&](const Port& port) { return port.socket.get() == &socket; });
    if (found != ports_.end()) {
        engine_.unlisten(found->listener);
        ports_.erase(found);
        last_retired_ = MonoClock::now();
    }
}

size_t SrtServer::retired() const {
    const bool lately = MonoClock::now() - last_retired_ < kPortKept;
    return last_retired_ != MonoTime() && (lately || sessions() > 0) ? 1 : 0;
}

// Yields. libsrt closes them by itself, some time later.
void SrtServer::close_unused() {
    if (retired() > 0 && sessions() == 0) {
        (void)io::sleep_until(io::Deadline::at(last_retired_ + kPortKept)).code();
    }
}

void SrtServer::stop_accepting() {
    for (const Port& port : ports_) {
        engine_.unlisten(port.listener);
    }
    ports_.clear();
}

Error SrtServer::stop(io::Deadline deadline) {
    stopping_ = true;
    stop_accepting();
    connections_.interrupt_all();
    return connections_.join_all(deadline);
}

// ---- connections ----

void SrtServer::on_srt_newcomer(io::SrtNewcomer newcomer) {
    const io::SrtId id = newcomer.id;
    const std::string ip = newcomer.peer.ip_text();
    if (stopping_ || !services_.connections.take()) {
        engine_.close(id);
        log_rejected(ip, "max_connections is reached");
        return;
    }
    // Shared only so that it can be a part of a std::function.
    auto connection = std::make_shared<SrtConnection>(*this, std::move(newcomer));
    const Error failed =
        connections_.spawn("srt", io::StackSize::kNormal, [connection] { connection->run(); });
    if (failed) {
        log_rejected(ip, failed.message());
    }
}

Result<SrtPump*> SrtServer::pump_for(const stream::StreamKey& key, const net::PlayRules& rules) {
    WEIR_TRY_ASSIGN(
        net::StreamPump* const pump,
        services_.fanout.pump_for(key, rules.stream, SrtPump::kKind, [&](stream::Stream& stream) {
            return std::make_unique<SrtPump>(stream, engine_, rules.pump);
        }));
    return static_cast<SrtPump*>(pump);
}

void SrtServer::log_rejected(std::string_view ip, std::string_view why) {
    log::throttled(throttle_, log::Level::kWarn, "srt connection refused ip={}: {}", log::token(ip),
                   why);
}

}  // namespace weir::session
