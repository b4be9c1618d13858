#include "session/rtmp/rtmp_server.h"

#include <utility>

#include "base/plant.h"
#include "io/deadline.h"
#include "session/rtmp/rtmp_connection.h"
#include "stream/stream.h"

namespace weir::session {

RtmpServer::RtmpServer(const net::Services& services, const RtmpServerOptions& options)
    : services_(services), options_(options) {
    resume_ = [this](rtmp::ServerSession session, Bytes unread,
                     std::unique_ptr<RtmpConnectFacts> facts, std::unique_ptr<io::TcpStream> stream,
                     std::unique_ptr<net::Client> client) {
        if (stopping_) {
            client->log_summary(net::EndClass::kStopping,
                                net::to_string(net::EndReason::kServerStopping));
            return;
        }
        // std::function wants copyable captures.
        auto connection = std::make_shared<RtmpConnection>(*this, std::move(stream),
                                                           std::move(client), MonoClock::now());
        connection->remember(std::move(facts));
        auto state = std::make_shared<std::pair<rtmp::ServerSession, Bytes>>(std::move(session),
                                                                             std::move(unread));
        Error spawned =
            connections_.spawn("rtmp", io::StackSize::kNormal, [connection, state]() mutable {
                connection->run_again(std::move(state->first), std::move(state->second));
                connection.reset();
            });
        if (spawned) {
            log::throttled(throttle_, log::Level::kError,
                           "no coroutine for a connection that stopped playing: {}",
                           spawned.message());
            connection->close(std::move(spawned));
        }
    };
}

RtmpServer::~RtmpServer() = default;

Error RtmpServer::serve(std::unique_ptr<io::TcpListener> listener,
                        std::shared_ptr<const net::Ingress> ingress) {
    return acceptors_.serve(std::move(listener), std::move(ingress));
}

const RtmpFormat& RtmpServer::format(uint32_t chunk_size, RtmpTracks tracks) {
    return formats_.try_emplace({chunk_size, tracks}, chunk_size, tracks).first->second;
}

const RtmpFormat& RtmpServer::line_format(uint32_t chunk_size) {
    return line_formats_.try_emplace(chunk_size, chunk_size).first->second;
}

// Yields.
void RtmpServer::begin(net::Arrival arrival) {
    const auto connection = std::make_shared<RtmpConnection>(
        *this, std::move(arrival.stream), std::move(arrival.client), arrival.since);
    connection->run(arrival.ingress.get());
    WEIR_PLANT("session-cycle", RtmpConnection::tie_session_into_a_cycle(connection));
}

void RtmpServer::log_stray(const net::Client& client, size_t publishes) {
    log::throttled(stray_, log::Level::kWarn,
                   "media dropped ip={}: its message stream publishes nothing, and this connection "
                   "publishes {} streams; the encoder has to send on the message stream on which "
                   "it said publish",
                   client.ip(), publishes);
}

void RtmpServer::log_dropped_config(const stream::StreamKey& key) {
    log::throttled(
        dropped_config_, log::Level::kWarn,
        "codec configuration or metadata dropped stream={}: at most {} bytes each and {} "
        "together are passed on",
        log::token(key.to_string()), stream::Stream::kMaxConfigBytes,
        stream::Stream::kMaxConfigTotal);
}

void RtmpServer::log_rejected(const net::Client& client, const Error& why) {
    if (why.code() == ErrorCode::kInterrupted || why.code() == ErrorCode::kClosed) {
        log::debug("closed ip={} before it published or played: {}", client.ip(), why.message());
    } else if (throttle_.allow(MonoClock::now())) {
        log::warn("rejected ip={} code={}: {} ({} more in the last second)", client.ip(),
                  to_string(why.code()), log::escaped(why.message()), throttle_.suppressed());
    }
}

void RtmpServer::stop_accepting() {
    acceptors_.stop();
}

Error RtmpServer::stop(io::Deadline deadline) {
    stopping_ = true;
    stop_accepting();
    entrance_.dismiss();
    connections_.interrupt_all();
    return connections_.join_all(deadline);
}

}  // namespace weir::session
