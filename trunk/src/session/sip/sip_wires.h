// The sockets of SIP: datagrams and connections in, whole messages to the owner; bytes out. A
// connection that a peer has made is used for what goes to it as long as it is there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/object_count.h"
#include "io/coroutine.h"
#include "io/udp.h"
#include "net/acceptors.h"
#include "net/datagram_ports.h"
#include "net/entrance.h"
#include "net/http/client.h"
#include "proto/sip/flow.h"
#include "proto/sip/message.h"
#include "proto/sip/stream_reader.h"

namespace weir::io {
class Deadline;
class Resolver;
class SocketAddress;
class WorkerPool;
}  // namespace weir::io

namespace weir::session {

class SipWiresOwner {
  public:
    // Never yields.
    virtual void on_parsed(sip::Parsed parsed, const sip::Flow& flow) = 0;
    virtual void on_flow_failed(const sip::Flow& flow) = 0;

    // More datagrams are there than one turn takes: read_more() is to be called.
    virtual void on_more() = 0;

    // Address of this host that phones reach; none: the one that they came to.
    virtual NetAddress public_address() const = 0;
    virtual Millis handshake() const = 0;
    virtual size_t calls() const = 0;

  protected:
    ~SipWiresOwner() = default;
};

struct SipWireCounters {
    uint64_t received = 0;  // messages
    uint64_t sent = 0;
    uint64_t malformed = 0;
    uint64_t unsent = 0;  // that found no connection, or no room
};

class SipWires final : public net::DatagramPorts {
  public:
    // What a peer does not read.
    static constexpr size_t kMaxOutput = 128 * 1024;
    // A connection without a message in it; phones send pings, or register again.
    static constexpr Seconds kIdle{3'600};
    // A message that has begun.
    static constexpr Seconds kMessageTime{20};
    static constexpr size_t kBatchesPerTurn = 8;
    static constexpr size_t kMaxOutgoing = 1'000;  // connections that this side makes

    // All must outlive this.
    SipWires(const net::Services& services, SipWiresOwner& owner, io::Resolver& resolver);
    ~SipWires();
    SipWires(const SipWires&) = delete;
    SipWires& operator=(const SipWires&) = delete;

    net::Acceptors& acceptors() { return acceptors_; }

    // Never yields.
    void send(const sip::Flow& flow, std::string bytes);

    // Never yields. A way to a peer that has sent nothing yet: by a port of this side, or over a
    // connection to it, which is there or begins now (on_flow_failed() is told when that fails).
    // `host`: the name that its certificate has to hold; empty: its address. kUnsupported: there is
    // no port for it. kFull, kSystem.
    Result<sip::Flow> flow_to(sip::Transport transport,
                              const NetAddress& remote,
                              const std::string& host);

    // Whether it listens anywhere yet.
    bool is_open() const { return !ports_.empty() || !acceptors_.locals().empty(); }

    // Whether what comes so was sent by one of the ports itself: by a line of this server. Nobody
    // else can, since no system takes datagrams from outside with an address of its own.
    bool is_own(const sip::Flow& flow) const;

    // Whether one of the ports is bound to it.
    bool has_address(const NetAddress& address) const;

    // For what blocks when the first connection by TLS is made. Must outlive this.
    void set_workers(io::WorkerPool* workers) { dialer_.set_workers(workers); }

    // Never yields. What on_more() was about.
    void read_more();

    void stop_accepting() { acceptors_.stop(); }

    // Yields.
    Error stop(io::Deadline deadline);

    const SipWireCounters& counters() const { return counters_; }

    size_t connections() const { return connections_.size(); }

    // net::DatagramPorts
    Error serve(std::unique_ptr<io::UdpSocket> socket) override;
    void retire(const io::UdpSocket& socket) override;
    io::UdpSocket* revive(const io::SocketAddress& bound) override;
    size_t retired() const override;
    void close_unused() override;

    size_t sessions() const override { return owner_.calls(); }

  private:
    struct Port final : io::EventHandler {
        void on_ready(uint8_t ready) override;

        SipWires* wires = nullptr;
        uint64_t id = 0;
        bool retired = false;
        bool more = false;
        std::unique_ptr<io::UdpSocket> socket;
    };

    class Connection;

    void read(Port& port);
    void run(net::Arrival arrival);
    sip::Flow flow_of(sip::Transport transport,
                      uint64_t id,
                      const NetAddress& remote,
                      const NetAddress& local) const;
    Port* find_port(const sip::Flow& flow) const;
    const Port* port_towards(const NetAddress& remote, const NetAddress& local) const;
    void run_outgoing(uint64_t id, const std::string& host);

    net::Services services_;
    SipWiresOwner& owner_;
    uint64_t last_id_ = 0;
    std::vector<std::unique_ptr<Port>> ports_;
    std::map<uint64_t, Connection*> connections_;
    std::map<uint64_t, std::unique_ptr<Connection>> outgoing_;  // of them, those that we make
    net::HttpClient dialer_;
    SipWireCounters counters_;
    io::TaskGroup tasks_;
    net::Entrance entrance_;
    net::Acceptors acceptors_;
};

}  // namespace weir::session
