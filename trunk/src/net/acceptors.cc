#include "net/acceptors.h"

#include <algorithm>

#include "base/check.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/tcp.h"

namespace weir::net {
namespace {

constexpr Millis kRetry{100};         // after a failure that accept() does not know to handle
constexpr size_t kMaxWaiting = 4096;  // as the queue of a listener
constexpr uint64_t kAcceptsPerYield = 32;

}  // namespace

struct Acceptors::Acceptor {
    std::unique_ptr<io::TcpListener> listener;
    std::shared_ptr<const Ingress> ingress;
    io::Coroutine coroutine;
};

Acceptors::Acceptors(const char* name, Take take) : name_(name), take_(std::move(take)) {}

Acceptors::~Acceptors() {
    WEIR_CHECK(all_.empty());
}

Error Acceptors::serve(std::unique_ptr<io::TcpListener> listener,
                       std::shared_ptr<const Ingress> ingress) {
    auto acceptor = std::make_unique<Acceptor>();
    acceptor->listener = std::move(listener);
    acceptor->ingress = std::move(ingress);
    const Acceptor& accepting = *acceptor;
    WEIR_TRY_ASSIGN(acceptor->coroutine,
                    io::Coroutine::spawn(name_, io::StackSize::kNormal,
                                         [this, &accepting] { accept_loop(accepting); }));
    all_.push_back(std::move(acceptor));
    return {};
}

void Acceptors::accept_loop(const Acceptor& acceptor) {
    io::set_log_id({});  // not that of the request that asked for a reload
    for (uint64_t accepted = 0;;) {
        // Ended by take_out(), which interrupts this coroutine.
        Result<std::unique_ptr<io::TcpStream>> stream =
            acceptor.listener->accept(io::Deadline::forever());
        if (stream.ok()) {
            take_(std::move(*stream), acceptor.ingress);
            if (++accepted % kAcceptsPerYield == 0) {
                io::yield();
            }
            continue;
        }
        const ErrorCode code = stream.error().code();
        if (code == ErrorCode::kInterrupted || code == ErrorCode::kClosed) {
            return;
        }
        if (failures_.allow(MonoClock::now())) {
            log::error("{} failed: {} suppressed={}", name_, stream.error().message(),
                       failures_.suppressed());
        }
        if (io::sleep_for(kRetry)) {
            return;
        }
    }
}

// Yields. Its coroutine has ended then.
std::unique_ptr<Acceptors::Acceptor> Acceptors::take_out(const io::TcpListener* listener) {
    const auto found = std::ranges::find_if(
        all_, [&](const auto& acceptor) { return acceptor->listener.get() == listener; });
    if (found == all_.end()) {
        return nullptr;
    }
    std::unique_ptr<Acceptor> acceptor = std::move(*found);
    all_.erase(found);
    acceptor->coroutine.interrupt();
    acceptor->coroutine.join();
    return acceptor;
}

std::unique_ptr<io::TcpListener> Acceptors::release(const io::TcpListener* listener) {
    const std::unique_ptr<Acceptor> acceptor = take_out(listener);
    return acceptor ? std::move(acceptor->listener) : nullptr;
}

void Acceptors::give(std::unique_ptr<io::TcpStream> stream) {
    take_(std::move(stream), nullptr);
}

void Acceptors::close(const io::TcpListener* listener) {
    const std::unique_ptr<Acceptor> acceptor = take_out(listener);
    for (size_t i = 0; acceptor && i < kMaxWaiting; i++) {
        Result<std::unique_ptr<io::TcpStream>> stream = acceptor->listener->accept_waiting();
        if (!stream.ok()) {
            return;
        }
        take_(std::move(*stream), acceptor->ingress);
    }
}

std::vector<io::SocketAddress> Acceptors::locals() const {
    std::vector<io::SocketAddress> locals;
    for (const auto& acceptor : all_) {
        locals.push_back(acceptor->listener->local());
    }
    return locals;
}

void Acceptors::stop() {
    while (!all_.empty()) {
        const std::unique_ptr<Acceptor> closed = take_out(all_.back()->listener.get());
    }
}

}  // namespace weir::net
