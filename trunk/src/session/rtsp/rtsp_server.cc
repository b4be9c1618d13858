#include "session/rtsp/rtsp_server.h"

#include <algorithm>

#include "base/bytes.h"
#include "io/deadline.h"
#include "net/fanout.h"
#include "net/rtp/rtp_pump.h"
#include "session/rtsp/rtsp_connection.h"
#include "session/rtsp/rtsp_udp_pump.h"

namespace weir::session {
namespace {

constexpr unsigned kIpv4Bits = 32;
constexpr uint64_t kMaxGroupTries = 65'536;

NetAddress address_in(const NetAddress& network, uint64_t index) {
    NetAddress::V4 ip = network.v4();
    uint32_t value = ByteReader(ip).u32() + static_cast<uint32_t>(index);
    store_u32(ip.data(), value);
    return NetAddress::from_v4(ip, 0);
}

}  // namespace

RtspServer::RtspServer(const net::Services& services, const RtspServerOptions& options)
    : services_(services), options_(options) {
    udp_.set_multicast_ttl(options.multicast.ttl);
    resume_ = [this](rtsp::ConnectionReader reader, Bytes unread,
                     std::unique_ptr<io::TcpStream> stream, std::unique_ptr<net::Client> client) {
        if (stopping_) {
            client->log_summary(net::EndClass::kStopping,
                                net::to_string(net::EndReason::kServerStopping));
            return;
        }
        // std::function wants copyable captures.
        auto connection = std::make_shared<RtspConnection>(*this, std::move(stream),
                                                           std::move(client), MonoClock::now());
        auto state = std::make_shared<std::pair<rtsp::ConnectionReader, Bytes>>(std::move(reader),
                                                                                std::move(unread));
        Error spawned =
            connections_.spawn("rtsp", io::StackSize::kNormal, [connection, state]() mutable {
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

RtspServer::~RtspServer() = default;

Error RtspServer::begin_burials() {
    if (!burying_) {
        WEIR_TRY_ASSIGN(burials_, io::Coroutine::spawn("rtsp ends", io::StackSize::kNormal,
                                                       [this] { run_burials(); }));
        burying_ = true;
    }
    return {};
}

const RtspFormat* RtspServer::format(const RtspChannels& channels) {
    for (const KnownFormat& known : formats_) {
        if (known.channels == channels) {
            return &known.format;
        }
    }
    return formats_.size() < kMaxFormats
               ? &formats_.emplace_back(channels, RtspFormat(channels)).format
               : nullptr;
}

void RtspServer::start(std::unique_ptr<io::TcpStream> stream,
                       const std::shared_ptr<const net::Ingress>& ingress) {
    entrance_.take(std::move(stream), ingress,
                   ingress ? options_.handshake : options_.first_command);
}

// Yields.
void RtspServer::run(net::Arrival arrival) {
    const auto connection = std::make_unique<RtspConnection>(
        *this, std::move(arrival.stream), std::move(arrival.client), arrival.since);
    connection->run(arrival.ingress.get());
}

void RtspServer::begin(std::unique_ptr<io::TcpStream> stream, std::unique_ptr<net::Client> client) {
    // std::function wants copyable captures.
    const auto arrival = std::make_shared<net::Arrival>();
    arrival->stream = std::move(stream);
    arrival->client = std::move(client);
    arrival->since = MonoClock::now();
    Error spawned = connections_.spawn("rtsp", io::StackSize::kNormal,
                                       [this, arrival] { run(std::move(*arrival)); });
    if (spawned) {
        log::throttled(throttle_, log::Level::kError, "no coroutine for a connection: {}",
                       spawned.message());
    }
}

// ---- players by UDP ----

Result<RtspUdpPump*> RtspServer::pump_for(const stream::StreamKey& key,
                                          const net::PlayRules& rules) {
    WEIR_TRY(begin_burials());
    net::RtpPumpOptions options;
    options.wait_publisher = rules.pump.wait_publisher;
    options.transport = "rtsp";
    WEIR_TRY_ASSIGN(net::StreamPump* const pump,
                    services_.fanout.pump_for(
                        key, rules.stream, RtspUdpPump::kKind, [&](stream::Stream& stream) {
                            return std::make_unique<RtspUdpPump>(stream, options);
                        }));
    return static_cast<RtspUdpPump*>(pump);
}

Result<std::shared_ptr<RtspGroup>> RtspServer::group_for(const stream::StreamKey& key,
                                                         const net::PlayRules& rules,
                                                         const io::SocketAddress& local) {
    const RtspMulticastOptions& options = options_.multicast;
    if (options.network.empty()) {
        return make_error(ErrorCode::kUnsupported, "there is no multicast here (rtsp_server)");
    }
    std::erase_if(groups_, [](const auto& each) { return each.second.expired(); });
    if (const auto found = groups_.find(key); found != groups_.end()) {
        return found->second.lock();
    }
    // By the name, so that a stream has the same group again where that is free; never the first
    // and last address of the network.
    const uint64_t size = uint64_t{1} << (kIpv4Bits - options.bits);
    const size_t hash = net::StreamKeyHash()(key);
    for (uint64_t i = 0; size > 2 && i < std::min(size - 2, kMaxGroupTries); i++) {
        const NetAddress address = address_in(options.network, 1 + (hash + i) % (size - 2));
        const bool taken = std::ranges::any_of(groups_, [&](const auto& each) {
            const std::shared_ptr<RtspGroup> group = each.second.lock();
            return group && group->address() == address;
        });
        if (!taken) {
            WEIR_TRY_ASSIGN(RtspUdpPump* const pump, pump_for(key, rules));
            WEIR_TRY_ASSIGN(
                std::shared_ptr<RtspGroup> group,
                RtspGroup::create(*pump, udp_, address, local.net_address().with_port(0), options));
            groups_.emplace(key, group);
            return group;
        }
    }
    return make_error(ErrorCode::kFull, "all groups of multicast are taken (rtsp_server)");
}

void RtspServer::reconfigure(const RtspServerOptions& options) {
    options_ = options;
    udp_.set_multicast_ttl(options.multicast.ttl);
}

void RtspServer::add(std::unique_ptr<RtspUdpPlayer> player) {
    RtspUdpPlayer* const key = player.get();
    udp_players_.emplace(key, std::move(player));
}

void RtspServer::bury(RtspUdpPlayer& player) {
    const auto found = udp_players_.find(&player);
    if (found == udp_players_.end()) {
        return;
    }
    ended_.push_back(std::move(found->second));
    udp_players_.erase(found);
    burial_.notify_one();
}

void RtspServer::bury(std::unique_ptr<io::TcpStream> stream) {
    closed_.push_back(std::move(stream));
    burial_.notify_one();
}

void RtspServer::run_burials() {
    while (!io::interrupted()) {
        if (ended_.empty() && closed_.empty() &&
            burial_.wait_until(io::Deadline::forever()).code() == ErrorCode::kInterrupted) {
            return;
        }
        ended_.clear();
        closed_.clear();
        udp_.rtp().close_unused();
        udp_.rtcp().close_unused();
    }
}

void RtspServer::log_rejected(const net::Client& client, const Error& why) {
    if (why.code() == ErrorCode::kInterrupted || why.code() == ErrorCode::kClosed) {
        log::debug("closed ip={} before it published or played: {}", client.ip(), why.message());
    } else {
        log::throttled(throttle_, log::Level::kWarn, "rejected ip={} code={}: {}", client.ip(),
                       to_string(why.code()), log::escaped(why.message()));
    }
}

Error RtspServer::stop(io::Deadline deadline) {
    stopping_ = true;
    stop_accepting();
    entrance_.dismiss();
    connections_.interrupt_all();
    Error late = connections_.join_all(deadline);
    while (!udp_players_.empty()) {
        udp_players_.begin()->first->end_playing(net::EndClass::kStopping,
                                                 net::to_string(net::EndReason::kServerStopping));
    }
    burials_.interrupt();
    burials_.join();
    burying_ = false;
    ended_.clear();
    closed_.clear();
    udp_.stop();
    return late;
}

}  // namespace weir::session
