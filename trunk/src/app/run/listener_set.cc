#include "app/run/listener_set.h"

#include <algorithm>

#include <unistd.h>

#include "base/log.h"
#include "config/value.h"

namespace weir::app {
namespace {

constexpr uint16_t kPortsOfAll = 1024;  // the first

constexpr int kUdpBuffer = 4 << 20;

bool is_udp(ListenerKind kind) {
    return kind == ListenerKind::kRtcUdp;
}

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

std::vector<WantedListener> wanted_listeners(const config::Config& config) {
    std::vector<WantedListener> wanted;
    const auto add = [&](ListenerKind kind, const std::vector<config::ListenAddress>& addresses) {
        for (const config::ListenAddress& address : addresses) {
            wanted.push_back({kind, address});
        }
    };
    add(ListenerKind::kRtmp, config.listen);
    if (config.rtc_server.enabled) {
        add(ListenerKind::kRtcUdp, config.rtc_server.listen);
        if (config.rtc_server.tcp) {
            add(ListenerKind::kRtcTcp, config.rtc_server.listen);
        }
    }
    if (config.http_server.enabled) {
        add(ListenerKind::kHttp, config.http_server.listen);
    }
    if (config.http_api.enabled) {
        add(ListenerKind::kApi, config.http_api.listen);
    }
    return wanted;
}

// First what stays as it is, then what changes hands.
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
                return entry->going && is_udp(entry->kind) == is_udp(step.wanted.kind) &&
                       (entry->kind == step.wanted.kind) == same_kind &&
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

// WebRTC by TCP is where it is by UDP, also where the system chose the port.
Result<io::SocketAddress> ListenerSet::address_of(const WantedListener& wanted) const {
    WEIR_TRY_ASSIGN(const io::SocketAddress address,
                    io::SocketAddress::parse(wanted.address.address));
    if (wanted.kind != ListenerKind::kRtcTcp || address.port() != 0) {
        return address;
    }
    for (const Step& step : steps_) {
        if (is_udp(step.wanted.kind) && step.wanted.address == wanted.address) {
            return step.udp ? step.udp->local() : step.from->udp->local();
        }
    }
    return address;
}

Error ListenerSet::open_udp(Step& step, const io::SocketAddress& address) {
    step.revived = rtc_.revive(address);
    if (step.revived != nullptr) {
        return {};
    }
    io::UdpOptions options;
    options.receive_buffer_bytes = kUdpBuffer;
    options.send_buffer_bytes = kUdpBuffer;
    Result<std::unique_ptr<io::UdpSocket>> socket = io::UdpSocket::bind(address, options);
    if (!socket.ok() && socket.error().code() == ErrorCode::kBusy && rtc_.retired() > 0) {
        rtc_.close_unused();
        socket = io::UdpSocket::bind(address, options);
    }
    if (!socket.ok() && socket.error().code() == ErrorCode::kBusy && rtc_.retired() > 0) {
        return std::move(socket).take_error().with_context(
            "WebRTC sessions may still use an earlier address of that port; it is free when they "
            "have ended");
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
        Result<std::unique_ptr<io::TcpListener>> tcp = io::TcpListener::listen(address);
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
        if (step.udp) {
            entry.udp = step.udp.get();
            return rtc_.serve(std::move(step.udp));
        }
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
        if (entry->udp != nullptr && rtc_.sessions() > 0) {
            return make_error(ErrorCode::kBusy,
                              "{} overlaps {}, which {} WebRTC sessions may use: choose another "
                              "port, or restart",
                              step.wanted.address.address, entry->address.address, rtc_.sessions());
        }
        close(*entry);
        closed.push_back(entry.get());
    }
    if (is_udp(step.wanted.kind)) {
        rtc_.close_unused();
    }
    Error failed = open(step);
    for (Entry* entry : closed) {
        if (failed) {
            reopen(*entry);
        } else {
            entry->tcp = nullptr;
            entry->udp = nullptr;
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
            rtc_.retire(*step.revived);
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
    const Service& service = services_.at(wanted.kind);
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
        entry->udp = step.from->udp;
        next.push_back(std::move(entry));
        return {};
    }
    if (is_udp(entry->kind)) {
        entry->udp = step.udp ? step.udp.get() : step.revived;
        if (step.udp) {
            WEIR_TRY(rtc_.serve(std::move(step.udp)));
        }
    } else {
        std::unique_ptr<io::TcpListener> tcp = std::move(step.tcp);
        if (step.from != nullptr) {
            log::info("handing over {}", text(*step.from));
            tcp = services_.at(step.from->kind).acceptors->release(step.from->tcp);
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
    const bool udp_changed = std::ranges::any_of(
        steps_, [](const Step& step) { return step.udp || step.revived != nullptr; });
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
    if (udp_changed) {
        log::info("webrtc candidates {}", rtc_.candidate_text());
    }
    return failed;
}

void ListenerSet::close(const Entry& entry) {
    if (entry.udp != nullptr) {
        rtc_.retire(*entry.udp);
    } else if (entry.tcp != nullptr) {
        services_.at(entry.kind).acceptors->close(entry.tcp);
    }
}

std::string ListenerSet::text(const Entry& entry) const {
    if (entry.udp != nullptr) {
        return fmt::format("udp://{} for WebRTC", entry.udp->local().to_string());
    }
    const io::SocketAddress local = entry.tcp->local();
    if (entry.kind == ListenerKind::kRtcTcp) {
        return fmt::format("tcp://{} for WebRTC", local.to_string());
    }
    const Service& service = services_.at(entry.kind);
    return fmt::format("{}{}",
                       clickable(fmt::format("{}{}", service.scheme, entry.address.ssl ? "s" : ""),
                                 local, service.path),
                       entry.address.proxy_protocol ? " behind a proxy (proxy_protocol)" : "");
}

std::vector<std::string> ListenerSet::list() const {
    std::vector<std::string> all;
    for (const auto& entry : entries_) {
        all.push_back(text(*entry));
    }
    return all;
}

}  // namespace weir::app
