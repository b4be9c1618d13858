#include "app/run/listener_set.h"

#include <algorithm>
#include <set>

#include <unistd.h>

#include "app/processes/shared_listeners.h"
#include "base/check.h"
#include "base/log.h"
#include "config/config.h"
#include "config/value.h"
#include "io/socket_address.h"
#include "io/tcp.h"
#include "io/udp.h"
#include "net/acceptors.h"
#include "net/datagram_ports.h"

namespace weir::app {
namespace {

constexpr uint16_t kPortsOfAll = 1024;  // the first

constexpr int kUdpBuffer = 4 << 20;

// "http://localhost:8080/" for a listener on every address, else its own one.
std::string clickable(std::string_view scheme,
                      const io::SocketAddress& address,
                      std::string_view path) {
    const std::string host =
        address.is_any() ? fmt::format("localhost:{}", address.port()) : address.to_string();
    return fmt::format("{}://{}{}", scheme, host, path);
}

void warn_about_buffers(const io::UdpSocket& socket) {
    if (socket.receive_buffer_bytes() < kUdpBuffer) {
        log::warn(
            "the kernel gives {} KiB of receive buffer to the UDP port, {} were asked for: "
            "bursts may be lost; sysctl net.core.rmem_max={} raises it (doc/performance.md)",
            socket.receive_buffer_bytes() / 1024, kUdpBuffer / 1024, kUdpBuffer);
    }
}

}  // namespace

struct ListenerSet::Step {
    WantedListener wanted;
    Entry* from = nullptr;  // of entries_: kept, or handed on
    std::unique_ptr<io::TcpListener> tcp;
    std::string opened_as;
    std::unique_ptr<io::UdpSocket> udp;
    const io::UdpSocket* revived = nullptr;
    bool postponed = false;  // an old listener is in its way
};

ListenerSet::ListenerSet()
    : open_tcp_([](const std::string& address) -> Result<std::unique_ptr<io::TcpListener>> {
          WEIR_TRY_ASSIGN(const io::SocketAddress to, io::SocketAddress::parse(address));
          return io::TcpListener::listen(to);
      }) {}

ListenerSet::~ListenerSet() = default;

std::vector<WantedListener> ListenerSet::wanted(const config::Config& config) const {
    std::vector<WantedListener> all;
    for (const ListenerService& service : services_) {
        const std::vector<config::ListenAddress>* addresses =
            service.wanted ? service.wanted(config) : nullptr;
        if (addresses == nullptr) {
            continue;
        }
        for (const config::ListenAddress& address : *addresses) {
            all.push_back({service.kind, address});
        }
    }
    return all;
}

const ListenerService& ListenerSet::service_of(std::string_view kind) const {
    const auto found = std::ranges::find(services_, kind, &ListenerService::kind);
    WEIR_CHECK(found != services_.end());
    return *found;
}

// First what stays as it is, then what changes hands: a UDP socket, which sessions use, never does.
void ListenerSet::match(const std::vector<WantedListener>& wanted) {
    for (const auto& entry : entries_) {
        entry->going = true;
    }
    steps_.clear();
    for (const WantedListener& each : wanted) {
        steps_.emplace_back().wanted = each;
    }
    for (const bool same_kind : {true, false}) {
        for (Step& step : steps_) {
            const auto found = std::ranges::find_if(entries_, [&](const auto& entry) {
                const bool may_change_hands = !is_udp(entry->kind) && !is_udp(step.wanted.kind);
                const bool open = entry->tcp != nullptr || entry->udp != nullptr;
                return entry->going && open &&
                       (same_kind ? entry->kind == step.wanted.kind : may_change_hands) &&
                       entry->address.address == step.wanted.address.address;
            });
            if (step.from == nullptr && found != entries_.end()) {
                step.from = found->get();
                step.from->going = false;
            }
        }
    }
}

bool ListenerSet::overlaps_going(const Step& step) const {
    return std::ranges::any_of(entries_, [&](const auto& entry) {
        return entry->going && is_udp(entry->kind) == is_udp(step.wanted.kind) &&
               config::listen_overlaps(entry->address.address, step.wanted.address.address);
    });
}

// What is beside a UDP port is so also where the system chose that.
Result<io::SocketAddress> ListenerSet::address_of(const WantedListener& wanted) const {
    WEIR_TRY_ASSIGN(const io::SocketAddress address,
                    io::SocketAddress::parse(wanted.address.address));
    const std::string_view beside = service_of(wanted.kind).beside;
    if (beside.empty() || address.port() != 0) {
        return address;
    }
    for (const Step& step : steps_) {
        if (step.wanted.kind == beside && step.wanted.address == wanted.address) {
            return step.udp ? step.udp->local() : step.from->udp->local();
        }
    }
    return address;
}

Error ListenerSet::open_udp(Step& step, const io::SocketAddress& address) {
    const ListenerService& service = service_of(step.wanted.kind);
    net::DatagramPorts& ports = *service.datagrams;
    step.opened_as =
        service.one_port ? std::string(SharedListeners::kUdp) + address.to_string() : "";
    step.revived = ports.revive(address);
    if (step.revived != nullptr) {
        return {};
    }
    io::UdpOptions options;
    options.receive_buffer_bytes = kUdpBuffer;
    options.send_buffer_bytes = kUdpBuffer;
    const auto bind = [&] {
        return service.one_port ? open_udp_(step.opened_as, options)
                                : io::UdpSocket::bind(address, options);
    };
    Result<std::unique_ptr<io::UdpSocket>> socket = bind();
    if (!socket.ok() && socket.error().code() == ErrorCode::kBusy && ports.retired() > 0) {
        ports.close_unused();
        socket = bind();
    }
    if (!socket.ok() && socket.error().code() == ErrorCode::kBusy && ports.retired() > 0) {
        return std::move(socket).take_error().with_context(fmt::format(
            "{} sessions may still use an earlier address of that port; it is free when they have "
            "ended",
            service.purpose));
    }
    WEIR_TRY_ASSIGN(step.udp, std::move(socket));
    warn_about_buffers(*step.udp);
    return {};
}

Error ListenerSet::open(Step& step) {
    WEIR_TRY_ASSIGN(const io::SocketAddress address, address_of(step.wanted));
    Error failed;
    if (is_udp(step.wanted.kind)) {
        failed = open_udp(step, address);
    } else {
        step.opened_as = address.to_string();
        Result<std::unique_ptr<io::TcpListener>> tcp = open_tcp_(step.opened_as);
        failed = tcp.ok() ? Error() : tcp.take_error();
        if (!failed) {
            step.tcp = std::move(*tcp);
        }
    }
    const bool low = address.port() != 0 && address.port() < kPortsOfAll && geteuid() != 0;
    if (failed && low && failed.code() != ErrorCode::kBusy) {
        return std::move(failed).with_context(
            "ports below 1024 can only be opened by root, before it becomes another user (restart "
            "the server), or with CAP_NET_BIND_SERVICE");
    }
    return failed;
}

void ListenerSet::reopen(Entry& entry) {
    const auto again = [&]() -> Error {
        Step step;
        step.wanted = {entry.kind, entry.address};
        WEIR_TRY(open(step));
        entry.opened_as = step.opened_as;
        if (step.udp) {
            entry.udp = step.udp.get();
            return service_of(entry.kind).datagrams->serve(std::move(step.udp));
        }
        entry.udp = step.revived;
        return step.tcp ? serve(step.wanted, std::move(step.tcp), entry) : Error();
    };
    if (Error failed = again()) {
        log::error("{}: cannot be opened again: {}", entry.address.origin, failed.message());
    }
}

// Yields. The old listener goes first, and comes back when the new one cannot be had.
Error ListenerSet::open_in_place(Step& step) {
    std::vector<Entry*> closed;
    for (const auto& entry : entries_) {
        if (!entry->going || is_udp(entry->kind) != is_udp(step.wanted.kind) ||
            !config::listen_overlaps(entry->address.address, step.wanted.address.address)) {
            continue;
        }
        const ListenerService& service = service_of(entry->kind);
        if (entry->udp != nullptr && service.datagrams->sessions() > 0) {
            return make_error(ErrorCode::kBusy,
                              "{} overlaps {}, which {} {} sessions may use: choose another port, "
                              "or restart",
                              step.wanted.address.address, entry->address.address,
                              service.datagrams->sessions(), service.purpose);
        }
        close(*entry);
        entry->tcp = nullptr;
        entry->udp = nullptr;
        if (service.datagrams != nullptr) {
            service.datagrams->close_unused();
        }
        closed.push_back(entry.get());
    }
    Error failed = open(step);
    for (Entry* entry : closed) {
        if (failed) {
            reopen(*entry);
        }
    }
    return failed;
}

std::vector<ListenFailure> ListenerSet::prepare(const std::vector<WantedListener>& wanted) {
    match(wanted);
    std::vector<ListenFailure> failures;
    for (Step& step : steps_) {
        step.postponed = step.from == nullptr && overlaps_going(step);
        if (step.from != nullptr || step.postponed) {
            continue;
        }
        if (Error failed = open(step)) {
            failures.push_back({step.wanted.address, std::move(failed)});
        }
    }
    for (Step& step : steps_) {
        if (!step.postponed || !failures.empty()) {
            continue;
        }
        if (Error failed = open_in_place(step)) {
            failures.push_back({step.wanted.address, std::move(failed)});
        }
    }
    if (!failures.empty()) {
        abandon();
    }
    return failures;
}

// What was closed to make room for a step that worked is opened again.
void ListenerSet::abandon() {
    for (Step& step : steps_) {
        if (step.revived != nullptr) {
            service_of(step.wanted.kind).datagrams->retire(*step.revived);
        }
        step.tcp.reset();
        step.udp.reset();
    }
    for (const auto& entry : entries_) {
        entry->going = false;
        if (entry->tcp == nullptr && entry->udp == nullptr) {
            reopen(*entry);
        }
    }
    steps_.clear();
}

Error ListenerSet::serve(const WantedListener& wanted,
                         std::unique_ptr<io::TcpListener> tcp,
                         Entry& entry) {
    const ListenerService& service = service_of(wanted.kind);
    const io::TcpListener* listener = tcp.get();
    WEIR_TRY(service.serve ? service.serve(std::move(tcp), wanted.address)
                           : service.acceptors->serve(std::move(tcp)));
    entry.tcp = listener;
    return {};
}

// Yields.
Error ListenerSet::take(Step& step, std::vector<std::unique_ptr<Entry>>& next) {
    auto entry = std::make_unique<Entry>();
    entry->kind = step.wanted.kind;
    entry->address = step.wanted.address;
    // Options of the address are of no matter to UDP.
    const bool unchanged = step.from != nullptr && step.from->kind == entry->kind &&
                           (is_udp(entry->kind) || step.from->address == entry->address);
    if (unchanged) {
        entry->tcp = step.from->tcp;
        entry->opened_as = step.from->opened_as;
        entry->udp = step.from->udp;
        next.push_back(std::move(entry));
        return {};
    }
    if (is_udp(entry->kind)) {
        entry->opened_as = std::move(step.opened_as);
        entry->udp = step.udp ? step.udp.get() : step.revived;
        if (step.udp) {
            WEIR_TRY(service_of(entry->kind).datagrams->serve(std::move(step.udp)));
        }
    } else {
        std::unique_ptr<io::TcpListener> tcp = std::move(step.tcp);
        entry->opened_as = std::move(step.opened_as);
        if (step.from != nullptr) {
            log::info("handing over {}", text(*step.from));
            entry->opened_as = step.from->opened_as;
            tcp = service_of(step.from->kind).acceptors->release(step.from->tcp);
        }
        WEIR_TRY(serve(step.wanted, std::move(tcp), *entry));
    }
    log::info("listening {}", text(*entry));
    next.push_back(std::move(entry));
    return {};
}

Error ListenerSet::commit() {
    std::vector<std::unique_ptr<Entry>> next;
    Error failed;
    std::set<std::string_view> changed;
    for (const Step& step : steps_) {
        if (step.udp || step.revived != nullptr) {
            changed.insert(step.wanted.kind);
        }
    }
    for (Step& step : steps_) {
        if (Error why = take(step, next)) {
            log::error("{}: {}", step.wanted.address.origin, why.message());
            failed = std::move(why);
        }
    }
    for (const auto& entry : entries_) {
        if (entry->going && (entry->tcp != nullptr || entry->udp != nullptr)) {
            log::info("no longer listening {}; connections go on", text(*entry));
            close(*entry);
        }
    }
    entries_ = std::move(next);
    steps_.clear();
    for (const std::string_view kind : changed) {
        if (const ListenerService& service = service_of(kind); service.changed) {
            service.changed();
        }
    }
    return failed;
}

void ListenerSet::close(const Entry& entry) {
    if (entry.udp != nullptr) {
        service_of(entry.kind).datagrams->retire(*entry.udp);
    } else if (entry.tcp != nullptr) {
        service_of(entry.kind).acceptors->close(entry.tcp);
    }
}

std::string ListenerSet::text(const Entry& entry) const {
    const ListenerService& service = service_of(entry.kind);
    const io::SocketAddress local = entry.udp != nullptr ? entry.udp->local() : entry.tcp->local();
    if (!service.purpose.empty()) {
        return fmt::format("{}://{} for {}", service.scheme, local.to_string(), service.purpose);
    }
    return fmt::format("{}{}",
                       clickable(fmt::format("{}{}", service.scheme, entry.address.ssl ? "s" : ""),
                                 local, service.path),
                       entry.address.proxy_protocol ? " behind a proxy (proxy_protocol)" : "");
}

std::vector<std::string> ListenerSet::opened_addresses(std::string_view kind) const {
    std::vector<std::string> all;
    for (const auto& entry : entries_) {
        const bool open = entry->tcp != nullptr || entry->udp != nullptr;
        if (open && !entry->opened_as.empty() && (kind.empty() || entry->kind == kind)) {
            all.push_back(entry->opened_as);
        }
    }
    return all;
}

std::vector<std::string> ListenerSet::list() const {
    std::vector<std::string> all;
    for (const auto& entry : entries_) {
        if (entry->tcp != nullptr || entry->udp != nullptr) {  // else it could not be opened again
            all.push_back(text(*entry));
        }
    }
    return all;
}

}  // namespace weir::app
