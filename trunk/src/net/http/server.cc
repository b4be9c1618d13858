#include "net/http/server.h"

#include <utility>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "net/http/connection.h"

namespace weir::net {

namespace {

constexpr size_t kMaxRefusals = 64;  // connections that are being told that the server is full
constexpr size_t kIdCharacters = 7;
constexpr Millis kAcceptRetry{100};
constexpr uint64_t kAcceptsPerYield = 32;

}  // namespace

struct HttpServer::Impl {
    struct Acceptor {
        std::unique_ptr<io::TcpListener> listener;
        io::Coroutine coroutine;
    };

    Impl(const HttpRouter& router, HttpServerOptions options)
        : shared(router, std::move(options)) {}

    void accept_loop(io::TcpListener& listener);
    void take(std::unique_ptr<io::TcpStream> stream);

    HttpConnection::Shared shared;
    std::vector<std::unique_ptr<Acceptor>> acceptors;
    io::TaskGroup connections;
    size_t refusals = 0;
    log::Throttle spawn_log{Seconds(1)};
};

void HttpServer::Impl::accept_loop(io::TcpListener& listener) {
    for (;;) {
        // Ended by stop(), which interrupts this coroutine.
        Result<std::unique_ptr<io::TcpStream>> stream = listener.accept(io::Deadline::forever());
        if (stream.ok()) {
            take(std::move(*stream));
            if (shared.stats.accepted % kAcceptsPerYield == 0) {
                io::yield();
            }
            continue;
        }
        ErrorCode code = stream.error().code();
        if (code == ErrorCode::kInterrupted || code == ErrorCode::kClosed) {
            return;
        }
        if (spawn_log.allow(MonoClock::now())) {
            log::error("http accept failed: {} suppressed={}", stream.error().message(),
                       spawn_log.suppressed());
        }
        if (Error e = io::sleep_for(kAcceptRetry)) {
            return;
        }
    }
}

void HttpServer::Impl::take(std::unique_ptr<io::TcpStream> stream) {
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
    // Shared because a std::function must be copyable; the body's copy is the only one that stays.
    auto connection =
        std::make_shared<HttpConnection>(shared, std::move(stream), std::move(permit));
    Error spawned =
        connections.spawn("http", io::StackSize::kNormal, [this, connection, admitted]() mutable {
            io::set_log_id("h" + random_id(system_random(), kIdCharacters));
            shared.stats.open++;
            admitted ? connection->run() : connection->refuse();
            connection.reset();
            shared.stats.open--;
        });
    if (spawned && spawn_log.allow(MonoClock::now())) {
        log::error("http connection dropped: {} suppressed={}", spawned.message(),
                   spawn_log.suppressed());
    }
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() {
    WEIR_CHECK(impl_->acceptors.empty());
}

std::unique_ptr<HttpServer> HttpServer::create(const HttpRouter& router,
                                               HttpServerOptions options) {
    auto impl = std::make_unique<Impl>(router, std::move(options));
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

Error HttpServer::serve(std::unique_ptr<io::TcpListener> listener) {
    auto acceptor = std::make_unique<Impl::Acceptor>();
    acceptor->listener = std::move(listener);
    io::TcpListener& accepting = *acceptor->listener;
    WEIR_TRY_ASSIGN(acceptor->coroutine,
                    io::Coroutine::spawn("http-accept", io::StackSize::kNormal,
                                         [this, &accepting] { impl_->accept_loop(accepting); }));
    impl_->acceptors.push_back(std::move(acceptor));
    return {};
}

Error HttpServer::stop(io::Deadline deadline) {
    for (auto& acceptor : impl_->acceptors) {
        acceptor->coroutine.interrupt();
        acceptor->coroutine.join();
        acceptor->listener->close();
    }
    impl_->acceptors.clear();
    impl_->connections.interrupt_all();
    return impl_->connections.join_all(deadline);
}

HttpServerStats HttpServer::stats() const {
    return impl_->shared.stats;
}

}  // namespace weir::net
