#include "net/http/server.h"

#include <utility>

#include "base/log.h"
#include "io/deadline.h"
#include "io/lobby.h"
#include "net/http/connection.h"
#include "net/http/detached_connection.h"

namespace weir::net {

namespace {

constexpr size_t kMaxRefusals = 64;  // connections that are being told that the server is full
constexpr const char* kCoroutine = "http";

}  // namespace

struct HttpServer::Impl {
    Impl(const HttpRouter& router, HttpServerOptions options)
        : shared(router, std::move(options)) {}

    void take(std::unique_ptr<io::TcpStream> stream,
              const std::shared_ptr<const Ingress>& ingress,
              const io::SocketAddress* inside_of = nullptr);
    void wait(const std::shared_ptr<HttpConnection>& connection,
              const std::shared_ptr<const Ingress>& ingress);

    HttpConnection::Shared shared;
    Acceptors acceptors{"http-accept", [this](auto stream, const auto& ingress) {
                            take(std::move(stream), ingress);
                        }};
    io::TaskGroup connections;
    io::Lobby lobby{kCoroutine, connections};
    size_t refusals = 0;
    log::Throttle spawn_log{Seconds(1)};
};

// `inside_of`: null, or of what is inside of an encrypted connection that address of this server.
void HttpServer::Impl::take(std::unique_ptr<io::TcpStream> stream,
                            const std::shared_ptr<const Ingress>& ingress,
                            const io::SocketAddress* inside_of) {
    shared.stats.accepted++;
    stream->apply(shared.options.stream);
    bool admitted = !shared.options.admit || shared.options.admit();
    if (!admitted) {
        shared.stats.refused++;
        if (refusals >= kMaxRefusals) {
            return;  // closed without a word: an answer would cost more than there is
        }
        refusals++;
    }
    ConnectionPermit permit = admitted ? ConnectionPermit(shared.options.release)
                                       : ConnectionPermit([this] { refusals--; });
    // Shared because a std::function must be copyable.
    auto connection =
        std::make_shared<HttpConnection>(shared, std::move(stream), std::move(permit), inside_of);
    if (admitted && connection->arrive(ingress.get())) {
        wait(connection, ingress);
        return;
    }
    auto body = [this, connection, admitted, ingress] {
        io::set_log_id(connection->id());
        if (admitted) {
            connection->run(ingress.get());
        } else {
            connection->refuse(ingress.get());
        }
    };
    Error spawned = connections.spawn(kCoroutine, io::StackSize::kNormal, std::move(body));
    if (spawned && spawn_log.allow(MonoClock::now())) {
        log::error("http connection dropped: {} suppressed={}", spawned.message(),
                   spawn_log.suppressed());
    }
}

// Without a coroutine, for the first byte of a request.
void HttpServer::Impl::wait(const std::shared_ptr<HttpConnection>& connection,
                            const std::shared_ptr<const Ingress>& ingress) {
    lobby.wait(connection->stream(), connection->until(), [this, connection, ingress] {
        io::set_log_id(connection->id());
        if (connection->run(ingress.get()) == HttpConnection::End::kIdle) {
            wait(connection, nullptr);
        }
    });
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() = default;

std::unique_ptr<HttpServer> HttpServer::create(const HttpRouter& router,
                                               HttpServerOptions options) {
    auto impl = std::make_unique<Impl>(router, std::move(options));
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

Error HttpServer::serve(std::unique_ptr<io::TcpListener> listener,
                        std::shared_ptr<const Ingress> ingress) {
    return impl_->acceptors.serve(std::move(listener), std::move(ingress));
}

void HttpServer::give_inside(std::unique_ptr<io::TcpStream> inside,
                             const io::SocketAddress& local) {
    impl_->take(std::move(inside), nullptr, &local);
}

Acceptors& HttpServer::acceptors() {
    return impl_->acceptors;
}

void HttpServer::set_header_timeout(Millis timeout) {
    impl_->shared.options.header_timeout = timeout;
}

void HttpServer::stop_keeping() {
    impl_->shared.draining = true;
}

void HttpServer::stop_accepting() {
    stop_keeping();
    impl_->acceptors.stop();
}

Error HttpServer::stop(io::Deadline deadline) {
    stop_accepting();
    impl_->lobby.dismiss();
    impl_->connections.interrupt_all();
    return impl_->connections.join_all(deadline);
}

HttpServerStats HttpServer::stats() const {
    HttpServerStats stats = impl_->shared.stats;
    stats.open = impl_->connections.size() + impl_->lobby.size();
    return stats;
}

}  // namespace weir::net
