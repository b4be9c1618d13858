#include "io/resolver.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <netdb.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <pthread.h>

#include "base/check.h"
#include "base/net_address.h"
#include "io/deadline.h"
#include "io/reactor.h"
#include "io/signal.h"
#include "io/signal_stack.h"
#include "io/signals_blocked.h"
#include "io/socket_address.h"

namespace weir::io {
namespace {

constexpr size_t kMaxAddresses = 16;               // of one name
constexpr size_t kThreadStackBytes = 1024 * 1024;  // modules of the name service run on it

using Addresses = std::vector<SocketAddress>;

Result<Addresses> look_up(const std::string& host) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_ADDRCONFIG;
    addrinfo* list = nullptr;
    const int failed = getaddrinfo(host.c_str(), nullptr, &hints, &list);
    if (failed == EAI_NONAME || failed == EAI_NODATA) {
        return make_error(ErrorCode::kNotFound, "there is no host {}", host);
    }
    if (failed != 0) {
        return make_error(ErrorCode::kSystem, "the name {} cannot be looked up: {}", host,
                          gai_strerror(failed));
    }
    Addresses found;
    for (const addrinfo* at = list; at != nullptr && found.size() < kMaxAddresses;
         at = at->ai_next) {
        if (at->ai_family == AF_INET || at->ai_family == AF_INET6) {
            found.push_back(SocketAddress::from_raw(at->ai_addr, at->ai_addrlen));
        }
    }
    freeaddrinfo(list);
    if (found.empty()) {
        return make_error(ErrorCode::kNotFound, "{} has no address", host);
    }
    return found;
}

SocketAddress with_port(const SocketAddress& address, uint16_t port) {
    sockaddr_storage raw{};
    std::memcpy(&raw, address.raw(), address.raw_size());
    if (raw.ss_family == AF_INET6) {
        reinterpret_cast<sockaddr_in6*>(&raw)->sin6_port = htons(port);
    } else {
        reinterpret_cast<sockaddr_in*>(&raw)->sin_port = htons(port);
    }
    return SocketAddress::from_raw(reinterpret_cast<const sockaddr*>(&raw), address.raw_size());
}

// No name service is asked for these (RFC 6761 §6.3).
std::optional<Addresses> known_without_asking(std::string_view host) {
    const auto from_text = [](std::string_view ip) -> std::optional<SocketAddress> {
        const std::optional<NetAddress> address = NetAddress::parse_ip(ip, 0);
        if (!address) {
            return std::nullopt;
        }
        return SocketAddress::of(*address);
    };
    if (host == "localhost") {
        return Addresses{*from_text("127.0.0.1"), *from_text("::1")};
    }
    if (const std::optional<SocketAddress> numeric = from_text(host)) {
        return Addresses{*numeric};
    }
    return std::nullopt;
}

// What the threads and the resolver share. A thread that hangs keeps it alive, hence the
// shared_ptr.
struct Shared {
    struct Answer {
        std::string host;
        Result<Addresses> found;
    };

    ~Shared() {
        if (event_fd >= 0) {
            ::close(event_fd);
        }
    }

    void thread_main() {
        std::unique_lock lock(mutex);
        for (;;) {
            idle++;
            changed.wait(lock, [this] { return stopping || !queue.empty(); });
            idle--;
            if (stopping) {
                return;
            }
            std::string host = std::move(queue.front());
            queue.pop_front();
            lock.unlock();
            Result<Addresses> found = lookup(host);
            lock.lock();
            finished.push_back({std::move(host), std::move(found)});
            const uint64_t one = 1;
            // Cannot fail: the counter is far from its limit.
            (void)!write(event_fd, &one, sizeof one);
        }
    }

    std::function<Result<Addresses>(const std::string&)> lookup;
    int event_fd = -1;

    std::mutex mutex;  // guards what follows
    std::condition_variable changed;
    std::deque<std::string> queue;
    std::vector<Answer> finished;
    size_t idle = 0;  // threads that wait for a name
    bool stopping = false;
};

void* run_thread(void* argument) {
    const std::unique_ptr<std::shared_ptr<Shared>> shared(
        static_cast<std::shared_ptr<Shared>*>(argument));
    pthread_setname_np(pthread_self(), "weir-dns");
    const SignalStack signal_stack;
    (*shared)->thread_main();
    return nullptr;
}

Error start_thread(const std::shared_ptr<Shared>& shared) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, kThreadStackBytes);
    auto argument = std::make_unique<std::shared_ptr<Shared>>(shared);
    pthread_t thread{};
    const SignalsBlocked blocked;  // inherited by the thread
    const int failed = pthread_create(&thread, &attributes, run_thread, argument.get());
    pthread_attr_destroy(&attributes);
    if (failed != 0) {
        return Error::from_errno(failed, "a thread for names");
    }
    (void)argument.release();  // the thread's
    return {};
}

}  // namespace

struct Resolver::Impl final : EventHandler {
    struct Name {
        Addresses addresses;  // the last that were found; may be stale
        ErrorCode failure = ErrorCode::kOk;
        std::string why;   // of the failure
        MonoTime fresh{};  // what is known is good until then
        MonoTime stale{};  // and the addresses may stand in until then
        bool asked = false;
        uint32_t waiters = 0;
        Signal answered;
    };

    explicit Impl(ResolverOptions o) : options(std::move(o)), shared(std::make_shared<Shared>()) {
        shared->lookup = options.lookup ? options.lookup : look_up;
    }

    ~Impl() {
        {
            const std::lock_guard lock(shared->mutex);
            shared->stopping = true;
        }
        shared->changed.notify_all();
        registration.remove();
    }

    void on_ready(uint8_t) override;
    Error open();
    Error ask(const std::string& host, Name& name);
    Result<Name*> name_of(std::string_view host);
    Error wait_for(Name& name, Deadline deadline);

    ResolverOptions options;
    ResolverStats stats;
    std::shared_ptr<Shared> shared;
    Registration registration;
    size_t threads = 0;
    std::map<std::string, std::unique_ptr<Name>, std::less<>> names;
};

void Resolver::Impl::on_ready(uint8_t) {
    uint64_t count = 0;
    (void)!read(shared->event_fd, &count, sizeof count);
    std::vector<Shared::Answer> answers;
    {
        const std::lock_guard lock(shared->mutex);
        answers.swap(shared->finished);
    }
    const MonoTime now = MonoClock::now();
    for (Shared::Answer& answer : answers) {
        const auto found = names.find(answer.host);
        WEIR_CHECK(found != names.end());  // what is asked for is not forgotten
        Name& name = *found->second;
        name.asked = false;
        if (answer.found.ok()) {
            name.addresses = std::move(*answer.found);
            name.failure = ErrorCode::kOk;
            name.fresh = now + options.keep;
            name.stale = now + options.keep_stale;
        } else {
            stats.failures++;
            name.failure = answer.found.error().code();
            name.why = answer.found.error().message();
            name.fresh = now + options.keep_failure;
            if (name.failure == ErrorCode::kNotFound) {
                name.addresses.clear();  // a word of the name server, and no silence
            }
        }
        name.answered.notify_all();
    }
}

Error Resolver::Impl::open() {
    if (shared->event_fd >= 0) {
        return {};
    }
    const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0) {
        return Error::from_errno(errno, "eventfd");
    }
    shared->event_fd = fd;
    WEIR_TRY_ASSIGN(registration, Registration::add(fd, *this));
    return {};
}

Error Resolver::Impl::ask(const std::string& host, Name& name) {
    WEIR_TRY(open());
    bool enough = false;
    {
        const std::lock_guard lock(shared->mutex);
        shared->queue.push_back(host);
        enough = shared->idle >= shared->queue.size();
    }
    name.asked = true;
    stats.lookups++;
    if (!enough && threads < options.threads) {
        Error failed = start_thread(shared);
        threads += failed ? 0U : 1U;
        if (failed && threads == 0) {
            const std::lock_guard lock(shared->mutex);
            shared->queue.pop_back();
            name.asked = false;
            return failed;
        }
    }
    shared->changed.notify_one();
    return {};
}

Result<Resolver::Impl::Name*> Resolver::Impl::name_of(std::string_view host) {
    const auto found = names.find(host);
    if (found != names.end()) {
        return found->second.get();
    }
    if (names.size() >= options.max_names) {
        const MonoTime now = MonoClock::now();
        std::erase_if(names, [now](const auto& each) {
            const Name& name = *each.second;
            return !name.asked && name.waiters == 0 && name.fresh <= now;
        });
    }
    if (names.size() >= options.max_names) {
        stats.refused++;
        return make_error(ErrorCode::kLimit, "{} names are already known or asked for",
                          options.max_names);
    }
    return (names[std::string(host)] = std::make_unique<Name>()).get();
}

// Until what is known of the name is fresh. A name that is waited for is not forgotten.
Error Resolver::Impl::wait_for(Name& name, Deadline deadline) {
    name.waiters++;
    Error ended;
    while (name.asked && !ended) {
        ended = name.answered.wait_until(deadline);
    }
    name.waiters--;
    return name.asked ? std::move(ended) : Error();
}

Resolver::Resolver(ResolverOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

Resolver::~Resolver() {
    for (const auto& [host, name] : impl_->names) {
        WEIR_CHECK(name->waiters == 0);
    }
}

const ResolverStats& Resolver::stats() const {
    return impl_->stats;
}

Result<std::vector<SocketAddress>> Resolver::resolve(std::string_view host,
                                                     uint16_t port,
                                                     Deadline deadline) {
    Impl& self = *impl_;
    const auto at_port = [port](const Addresses& addresses) {
        Addresses all;
        for (const SocketAddress& each : addresses) {
            all.push_back(with_port(each, port));
        }
        return all;
    };
    if (const std::optional<Addresses> known = known_without_asking(host)) {
        return at_port(*known);
    }
    const std::string key(host);
    WEIR_TRY_ASSIGN(Impl::Name* const name, self.name_of(key));
    const MonoTime now = MonoClock::now();
    const bool fresh = now < name->fresh;
    const bool may_be_stale = !name->addresses.empty() && now < name->stale;
    if (!fresh) {
        if (!name->asked) {
            WEIR_TRY(self.ask(key, *name));
        }
        const MonoTime patience =
            may_be_stale ? std::min(deadline.time(), now + self.options.wait_before_stale)
                         : deadline.time();
        Error ended = self.wait_for(*name, Deadline::at(patience));
        if (ended.code() == ErrorCode::kInterrupted) {
            return ended;
        }
        if (ended && !may_be_stale) {
            self.stats.timeouts++;
            return make_error(ErrorCode::kTimeout, "the name server gives no answer for {}", key);
        }
        if (ended) {
            self.stats.stale++;
            return at_port(name->addresses);
        }
    }
    if (name->failure != ErrorCode::kOk) {
        if (!name->addresses.empty() && now < name->stale) {
            self.stats.stale++;  // asked in vain: the last answer stands in
            return at_port(name->addresses);
        }
        return make_error(name->failure, "{}", name->why);
    }
    return at_port(name->addresses);
}

}  // namespace weir::io
