#include "session/sip/sip_wires.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "io/deadline.h"
#include "io/resolver.h"
#include "io/signal.h"
#include "io/tcp.h"
#include "net/client_table.h"
#include "proto/http/url.h"

namespace weir::session {
namespace {

constexpr size_t kReadBytes = 3072;
constexpr std::string_view kPong = "\r\n";
constexpr uint16_t kUsualPort = 5060;

}  // namespace

// ---- connections ----

// In the coroutine of its reader; output goes when the socket takes it.
class SipWires::Connection final : private io::EventHandler, private Counted<Connection> {
  public:
    // A connection of SIP over TCP or TLS.
    static constexpr ObjectName kObjectName{"sip_connection", "sip"};

    Connection(SipWires& wires, uint64_t id, net::Arrival arrival)
        : wires_(wires),
          stream_(std::move(arrival.stream)),
          client_(std::move(arrival.client)),
          flow_(wires.flow_of(stream_->encrypted() ? sip::Transport::kTls : sip::Transport::kTcp,
                              id,
                              stream_->peer().net_address(),
                              stream_->local().net_address())) {}

    // Of this side; run_to() connects it. What is sent before waits.
    Connection(SipWires& wires, sip::Flow flow) : wires_(wires), flow_(std::move(flow)) {}

    ~Connection() {
        if (stream_) {
            stream_->set_handler(nullptr);
        }
    }

    // Yields. Connects, then run().
    Error run_to(const http::Url& url, io::Deadline deadline) {
        if (!wires_.services_.connections.take()) {
            return make_error(ErrorCode::kFull, "max_connections is reached");
        }
        client_ =
            std::make_unique<net::Client>(wires_.services_.clients, "sip", flow_.remote.ip_text());
        client_->hold(wires_.services_.connections);
        client_->encrypted = url.tls;
        WEIR_TRY_ASSIGN(stream_, wires_.dialer_.connect(url, deadline));
        run();
        return {};
    }

    // Yields. Until the peer leaves.
    void run() {
        io::set_log_id(client_->id());
        client_->kick = [this] { stream_->shutdown(); };
        stream_->set_handler(this);
        flush();
        read();
        while (!over_) {
            const Error waited = signal_.wait_until(io::Deadline::at(deadline_), "SIP");
            if (waited.code() == ErrorCode::kInterrupted ||
                (waited && MonoClock::now() >= deadline_)) {
                break;
            }
        }
        client_->count_end(net::EndClass::kPeerClosed);
    }

    const sip::Flow& flow() const { return flow_; }

    void send(std::string_view bytes) {
        if (over_ || output_.size() + bytes.size() > kMaxOutput) {
            wires_.counters_.unsent++;
            end();
            return;
        }
        output_ += bytes;
        flush();
    }

  private:
    void on_ready(uint8_t) override {
        flush();
        read();
    }

    void end() {
        over_ = true;
        signal_.notify_all();
    }

    void read() {
        std::array<uint8_t, kReadBytes> buffer;
        deadline_ = MonoClock::now() + (reader_.in_message() ? kMessageTime : kIdle);
        while (!over_) {
            const io::IoResult got = stream_->try_read(buffer);
            if (got.status == io::IoStatus::kWouldBlock) {
                break;
            }
            if (got.status != io::IoStatus::kDone) {
                end();
                break;
            }
            client_->received_bytes += got.bytes;
            take({buffer.data(), got.bytes});
        }
        deadline_ = MonoClock::now() + (reader_.in_message() ? kMessageTime : kIdle);
    }

    void take(ByteSpan bytes) {
        using Status = sip::StreamReader::Status;
        while (!over_) {
            switch (reader_.next(bytes)) {
                case Status::kNeedMore: return;
                case Status::kPing: send(kPong); break;
                case Status::kMessage:
                    wires_.counters_.received++;
                    wires_.owner_.on_parsed(std::move(reader_.parsed()), flow_);
                    break;
                case Status::kError:
                    wires_.counters_.malformed++;
                    wires_.owner_.on_parsed(std::move(reader_.parsed()), flow_);
                    end();
                    return;
            }
        }
    }

    void flush() {
        while (stream_ && !output_.empty() && !over_) {
            const io::IoResult done = stream_->try_write(as_bytes(output_));
            if (done.status == io::IoStatus::kWouldBlock) {
                return;
            }
            if (done.status != io::IoStatus::kDone) {
                end();
                return;
            }
            client_->sent_bytes += done.bytes;
            output_.erase(0, done.bytes);
        }
    }

    SipWires& wires_;
    std::unique_ptr<io::TcpStream> stream_;
    std::unique_ptr<net::Client> client_;
    sip::Flow flow_;
    sip::StreamReader reader_;
    std::string output_;
    MonoTime deadline_{};
    io::Signal signal_;
    bool over_ = false;
};

void SipWires::run(net::Arrival arrival) {
    const auto deadline = io::Deadline::at(arrival.since + owner_.handshake());
    if (Error refused = net::enter(arrival.ingress.get(), *arrival.stream, *arrival.client,
                                   services_.limits, deadline)) {
        return;
    }
    const uint64_t id = ++last_id_;
    const auto connection = std::make_unique<Connection>(*this, id, std::move(arrival));
    connections_[id] = connection.get();
    connection->run();
    connections_.erase(id);
    owner_.on_flow_failed(connection->flow());
}

void SipWires::run_outgoing(uint64_t id, const std::string& host) {
    Connection& connection = *outgoing_.at(id);
    const sip::Flow flow = connection.flow();
    http::Url url;
    url.tls = flow.transport == sip::Transport::kTls;
    url.host = host.empty() ? flow.remote.ip_text() : host;
    url.port = flow.remote.port();
    if (const Error failed = connection.run_to(url, io::Deadline::after(owner_.handshake()))) {
        log::warn("sip connection to {} failed: {}", flow.remote.to_string(), failed.message());
    }
    connections_.erase(id);
    outgoing_.erase(id);
    owner_.on_flow_failed(flow);
}

Result<sip::Flow> SipWires::flow_to(sip::Transport transport,
                                    const NetAddress& remote,
                                    const std::string& host) {
    WEIR_TRY_ASSIGN(const NetAddress local, io::address_towards(remote));
    const Port* const port = port_towards(remote, local);
    if (transport == sip::Transport::kUdp) {
        if (port == nullptr) {
            return make_error(ErrorCode::kUnsupported, "no UDP port of sip_server reaches {}",
                              remote.to_string());
        }
        const NetAddress bound = port->socket->local().net_address();
        return flow_of(transport, port->id, remote,
                       (bound.is_any() ? local : bound).with_port(bound.port()));
    }
    for (const auto& [id, connection] : connections_) {
        if (connection->flow().transport == transport && connection->flow().remote == remote) {
            return connection->flow();
        }
    }
    if (outgoing_.size() >= kMaxOutgoing) {
        return make_error(ErrorCode::kFull, "too many connections to other servers");
    }
    const uint16_t own = port != nullptr ? port->socket->local().port() : kUsualPort;
    const uint64_t id = ++last_id_;
    auto connection =
        std::make_unique<Connection>(*this, flow_of(transport, id, remote, local.with_port(own)));
    sip::Flow flow = connection->flow();
    connections_[id] = connection.get();
    outgoing_[id] = std::move(connection);
    if (Error failed = tasks_.spawn("sip connection", io::StackSize::kNormal,
                                    [this, id, host] { run_outgoing(id, host); })) {
        connections_.erase(id);
        outgoing_.erase(id);
        return failed;
    }
    return flow;
}

// ---- datagrams ----

void SipWires::Port::on_ready(uint8_t ready) {
    if ((ready & io::kReadable) != 0) {
        wires->read(*this);
    }
}

void SipWires::read(Port& port) {
    const NetAddress bound = port.socket->local().net_address();
    port.more = false;
    for (size_t i = 0; i < kBatchesPerTurn; i++) {
        const bool more =
            port.socket->receive([&](std::span<uint8_t> bytes, const io::UdpPath& path) {
                const NetAddress local =
                    path.local.empty() ? bound : path.local.with_port(bound.port());
                const sip::Flow flow = flow_of(sip::Transport::kUdp, port.id, path.peer, local);
                sip::Parsed parsed = sip::parse_datagram(bytes);
                if (parsed.kind == sip::Parsed::Kind::kKeepAlive) {
                    return;
                }
                (parsed.kind == sip::Parsed::Kind::kMessage ? counters_.received
                                                            : counters_.malformed)++;
                owner_.on_parsed(std::move(parsed), flow);
            });
        if (!more) {
            return;
        }
    }
    port.more = true;
    owner_.on_more();
}

void SipWires::read_more() {
    for (const auto& port : ports_) {
        if (port->more) {
            read(*port);
        }
    }
}

Error SipWires::serve(std::unique_ptr<io::UdpSocket> socket) {
    auto port = std::make_unique<Port>();
    port->wires = this;
    port->id = ++last_id_;
    port->socket = std::move(socket);
    port->socket->set_handler(port.get());
    ports_.push_back(std::move(port));
    read(*ports_.back());
    owner_.on_more();  // who has waited for a port goes on
    return {};
}

void SipWires::retire(const io::UdpSocket& socket) {
    for (const auto& port : ports_) {
        port->retired = port->retired || port->socket.get() == &socket;
    }
    close_unused();
}

io::UdpSocket* SipWires::revive(const io::SocketAddress& bound) {
    for (const auto& port : ports_) {
        if (port->retired && port->socket->local().net_address() == bound.net_address()) {
            port->retired = false;
            return port->socket.get();
        }
    }
    return nullptr;
}

size_t SipWires::retired() const {
    return static_cast<size_t>(
        std::ranges::count_if(ports_, [](const auto& port) { return port->retired; }));
}

void SipWires::close_unused() {
    if (sessions() == 0) {
        std::erase_if(ports_, [](const auto& port) { return port->retired; });
    }
}

// ---- both ----

sip::Flow SipWires::flow_of(sip::Transport transport,
                            uint64_t id,
                            const NetAddress& remote,
                            const NetAddress& local) const {
    const NetAddress named = owner_.public_address();
    const bool outside = !named.empty() && !remote.is_loopback() && !remote.same_ip(local);
    return {transport, id, remote, outside ? named.with_port(local.port()) : local};
}

SipWires::Port* SipWires::find_port(const sip::Flow& flow) const {
    const auto found =
        std::ranges::find_if(ports_, [&](const auto& port) { return port->id == flow.connection; });
    return found != ports_.end() ? found->get() : ports_.empty() ? nullptr : ports_.front().get();
}

bool SipWires::is_own(const sip::Flow& flow) const {
    return flow.transport == sip::Transport::kUdp &&
           std::ranges::any_of(ports_, [&](const auto& port) {
               const NetAddress bound = port->socket->local().net_address();
               const bool same = bound.is_any()
                                     ? flow.remote.is_loopback() || flow.remote.same_ip(flow.local)
                                     : flow.remote.same_ip(bound);
               return same && flow.remote.port() == bound.port();
           });
}

bool SipWires::has_address(const NetAddress& address) const {
    return std::ranges::any_of(ports_, [&](const auto& port) {
        return port->socket->local().net_address().same_ip(address);
    });
}

// One that is bound to the address itself is better than one that is bound to all.
const SipWires::Port* SipWires::port_towards(const NetAddress& remote,
                                             const NetAddress& local) const {
    const Port* found = nullptr;
    for (const auto& port : ports_) {
        const NetAddress bound = port->socket->local().net_address();
        const bool any = bound.is_any() && (!bound.is_v4() || remote.is_v4());
        if (port->retired || (!any && bound.is_v4() != remote.is_v4())) {
            continue;
        }
        if (bound.same_ip(local)) {
            return port.get();
        }
        found = found == nullptr || any ? port.get() : found;
    }
    return found;
}

void SipWires::send(const sip::Flow& flow, std::string bytes) {
    counters_.sent++;
    if (flow.transport == sip::Transport::kUdp) {
        Port* const port = find_port(flow);
        const bool sent =
            port != nullptr &&
            port->socket->send({flow.remote, {}}, as_bytes(bytes)).status == io::IoStatus::kDone;
        counters_.unsent += sent ? 0 : 1;
        return;
    }
    const auto found = connections_.find(flow.connection);
    if (found == connections_.end()) {
        counters_.unsent++;
        return;
    }
    found->second->send(bytes);
}

SipWires::SipWires(const net::Services& services, SipWiresOwner& owner, io::Resolver& resolver)
    : services_(services),
      owner_(owner),
      dialer_(resolver),
      entrance_(
          "sip", services_, tasks_, [this](net::Arrival arrival) { run(std::move(arrival)); }),
      acceptors_("sip accept", [this](auto stream, const auto& ingress) {
          entrance_.take(std::move(stream), ingress, owner_.handshake());
      }) {}

SipWires::~SipWires() = default;

Error SipWires::stop(io::Deadline deadline) {
    acceptors_.stop();
    entrance_.dismiss();
    tasks_.interrupt_all();
    Error joined = tasks_.join_all(deadline);
    ports_.clear();
    return joined;
}

}  // namespace weir::session
