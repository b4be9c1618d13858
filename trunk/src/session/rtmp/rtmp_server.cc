#include "session/rtmp/rtmp_server.h"

#include "base/plant.h"
#include "session/rtmp/rtmp_connection.h"

namespace weir::session {

RtmpServer::RtmpServer(const net::Services& services, const RtmpServerOptions& options)
    : services_(services), options_(options), format_(options.chunk_size) {
    resume_ = [this](rtmp::ServerSession session, Bytes unread,
                     std::unique_ptr<io::TcpStream> stream, std::unique_ptr<net::Client> client) {
        if (stopping_) {
            client->log_summary(net::to_string(net::EndReason::kServerStopping));
            return;
        }
        // std::function wants copyable captures.
        auto connection =
            std::make_shared<RtmpConnection>(*this, std::move(stream), std::move(client));
        auto state = std::make_shared<std::pair<rtmp::ServerSession, Bytes>>(std::move(session),
                                                                             std::move(unread));
        Error spawned =
            connections_.spawn("rtmp", io::StackSize::kNormal, [connection, state]() mutable {
                connection->run_again(std::move(state->first), std::move(state->second));
                connection.reset();
            });
        if (spawned) {
            log::error("no coroutine for a connection that stopped playing: {}", spawned.message());
        }
    };
}

RtmpServer::~RtmpServer() = default;

Error RtmpServer::serve(std::unique_ptr<io::TcpListener> listener) {
    io::TcpListener* accepting = listener.get();
    listeners_.push_back(std::move(listener));
    return acceptors_.spawn("rtmp accept", io::StackSize::kNormal,
                            [this, accepting] { accept_loop(*accepting); });
}

void RtmpServer::accept_loop(io::TcpListener& listener) {
    for (;;) {
        // Ended by stop().
        Result<std::unique_ptr<io::TcpStream>> stream = listener.accept(io::Deadline::forever());
        if (stream.ok()) {
            start(std::move(*stream));
        } else if (stream.error().code() == ErrorCode::kInterrupted ||
                   stream.error().code() == ErrorCode::kClosed) {
            return;
        }
    }
}

void RtmpServer::start(std::unique_ptr<io::TcpStream> stream) {
    if (!services_.connections.take()) {
        if (throttle_.allow(MonoClock::now())) {
            log::warn(
                "connection refused ip={}: max_connections {} reached ({} more in the last second)",
                stream->peer().host(), services_.connections.limit(), throttle_.suppressed());
        }
        return;
    }
    auto client = std::make_unique<net::Client>(services_.clients, "rtmp", stream->peer().host());
    client->hold(services_.connections);
    auto connection = std::make_shared<RtmpConnection>(*this, std::move(stream), std::move(client));
    Error spawned = connections_.spawn("rtmp", io::StackSize::kNormal, [connection]() mutable {
        connection->run();
        WEIR_PLANT("session-cycle", RtmpConnection::tie_session_into_a_cycle(connection));
        connection.reset();
    });
    if (spawned && throttle_.allow(MonoClock::now())) {
        log::error("no coroutine for a connection: {}", spawned.message());
    }
}

void RtmpServer::log_refused(std::string_view what,
                             const stream::StreamKey& key,
                             const net::Client& client,
                             const Error& why) {
    if (refused_.allow(MonoClock::now())) {
        log::warn("{} refused stream={} ip={}: {} ({} more in the last second)", what,
                  log::escaped(key.to_string()), client.ip(), log::escaped(why.message(), 500),
                  refused_.suppressed());
    }
}

void RtmpServer::log_rejected(const net::Client& client, const Error& why) {
    if (why.code() == ErrorCode::kInterrupted || why.code() == ErrorCode::kClosed) {
        log::debug("closed ip={} before it published or played: {}", client.ip(), why.message());
    } else if (throttle_.allow(MonoClock::now())) {
        log::warn("rejected ip={} code={}: {} ({} more in the last second)", client.ip(),
                  to_string(why.code()), log::escaped(why.message()), throttle_.suppressed());
    }
}

Error RtmpServer::stop(io::Deadline deadline) {
    stopping_ = true;
    for (auto& listener : listeners_) {
        listener->close();
    }
    acceptors_.interrupt_all();
    connections_.interrupt_all();
    WEIR_TRY(acceptors_.join_all(deadline));
    return connections_.join_all(deadline);
}

}  // namespace weir::session
