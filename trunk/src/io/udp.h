// UdpSocket: one bound, non-blocking socket for any number of peers. Datagrams come in batches
// (recvmmsg) and go out as bursts to one peer (UDP GSO: one call and one walk through the kernel
// for up to 64 packets of equal size). Media thread only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "base/net_address.h"
#include "base/object_count.h"
#include "io/io_result.h"
#include "io/reactor.h"

namespace weir::io {

class CoroutineState;  // private to io/
class Deadline;
class OwnFd;
class SocketAddress;

struct UdpOptions {
    int receive_buffer_bytes = 0;  // SO_RCVBUF and SO_SNDBUF; 0 leaves the kernel's default
    int send_buffer_bytes = 0;
    bool receive_bursts = false;  // UDP GRO: for a client that gets many packets of one peer
    bool shared_port = false;     // of a multicast group: others on this machine may have it, too
    // Somebody looks at it by a timer, and nobody waits for it: then datagrams wake nothing up.
    bool polled = false;
    bool names_holder = true;  // kBusy says which process has the port, which takes milliseconds
};

// Never yields. The address of this host that the system's routes would send to `to` from, without
// port. kSystem: there is no route.
Result<NetAddress> address_towards(const NetAddress& to);

// Where a datagram came from, and to which of our addresses: an answer must leave by the same, or a
// machine with several addresses is not understood.
struct UdpPath {
    NetAddress peer;
    NetAddress local;  // without port; none where the socket is bound to one address

    bool operator==(const UdpPath&) const = default;
};

// Counters since the socket was made.
struct UdpStats {
    uint64_t received = 0;  // datagrams
    uint64_t received_bytes = 0;
    uint64_t sent = 0;
    uint64_t sent_bytes = 0;
    uint64_t send_calls = 0;
    uint64_t kernel_drops = 0;  // came, and the receive buffer was full (SO_RXQ_OVFL)
    uint64_t oversized = 0;     // longer than kMaxDatagram, not given to anybody
    uint64_t send_refused = 0;  // packets that the kernel did not take, for another reason than a
                                // full buffer (no route, a firewall)
    uint64_t send_blocked = 0;  // calls that found the send buffer full
};

// The index of the interface with this name, or with this numeric address; 0 for an empty name: the
// system's routes choose it. kNotFound.
Result<uint32_t> find_interface(const std::string& name);

// Never yields. The address of this host, without port, that datagrams to that one leave from.
// kSystem.
Result<NetAddress> local_address_towards(const NetAddress& peer);

class UdpSocket final : private EventHandler, private Counted<UdpSocket> {
  public:
    static constexpr ObjectName kObjectName{"udp_socket", "network"};

    static constexpr size_t kMaxDatagram = 2048;
    static constexpr size_t kMaxSegments = 64;        // UDP_MAX_SEGMENTS of older kernels
    static constexpr size_t kMaxBurstBytes = 65'000;  // an IP packet holds 65,535
    static constexpr size_t kBatch = 32;              // datagrams a system call

    ~UdpSocket();  // closes; no coroutine may wait on it
    UdpSocket(const UdpSocket&) = delete;
    UdpSocket& operator=(const UdpSocket&) = delete;

    // A wildcard IPv6 address also takes IPv4. kBusy: the port is in use. kSystem.
    static Result<std::unique_ptr<UdpSocket>> bind(const SocketAddress& address,
                                                   const UdpOptions& options);

    // Of a socket that is bound (open_datagrams()). kSystem.
    static Result<std::unique_ptr<UdpSocket>> adopt(OwnFd socket, const UdpOptions& options);

    // Never yields. A socket of the same port that gets what comes from `path.peer` to `path.local`
    // from now on, in place of this one, which has to be of a shared port (open_datagrams()).
    // `path`: as receive() gives it. Until it is connected, the kernel may give it datagrams of
    // others, so look who sent what it has. kUnsupported: the system would send to that peer from
    // another address; kSystem.
    Result<std::unique_ptr<UdpSocket>> connect_beside(const UdpPath& path,
                                                      const UdpOptions& options) const;

    SocketAddress local() const;

    // Of what is sent to groups of IPv4: how many routers it may pass.
    void set_multicast_ttl(uint8_t ttl);

    // Never yields. What is sent to groups of both kinds leaves by the interface with this index
    // (0: the system's routes say it) and may pass so many routers (0: 1). kSystem.
    Error send_multicast_on(uint32_t interface, uint8_t ttl);

    // What the kernel gave, which may be less than was asked for (net.core.rmem_max, wmem_max).
    int receive_buffer_bytes() const { return receive_buffer_bytes_; }

    int send_buffer_bytes() const { return send_buffer_bytes_; }

    // Yields. Until a datagram may be there. kTimeout, kInterrupted, kClosed after close().
    Error wait_readable(Deadline deadline);

    // Yields. Until a send that was blocked may be tried again. The same errors.
    Error wait_writable(Deadline deadline);

    // Never yields. Gets what is sent to a multicast group, by anybody, or by `source` alone where
    // it is not none. `local`: an address of the interface where the group is looked for; where it
    // is none of ours, the system's routes say it. kSystem.
    Error join(const NetAddress& group, const NetAddress& local, const NetAddress& source = {});

    // The same on the interface with this index; 0: the system's routes say it.
    Error join_on(uint32_t interface, const NetAddress& group, const NetAddress& source = {});

    // Leaves it, with the same arguments as it was joined.
    Error leave_on(uint32_t interface, const NetAddress& group, const NetAddress& source = {});

    // Never yields. Gives up to kBatch datagrams to `visit`; their bytes are good (and may be
    // changed) during the call only. False: there are no more for now. `visit` must not call
    // receive() of any socket: all share a buffer.
    bool receive(
        const std::function<void(std::span<uint8_t> datagram, const UdpPath& path)>& visit);

    // Never yields. One datagram, or a burst: packets of `segment_bytes` each, laid end to end, the
    // last one of them may be shorter. At most kMaxSegments and kMaxBurstBytes. 0: one datagram.
    // kWouldBlock: nothing of it was sent, and a coroutine may call wait_writable(). kFailed:
    // error_number; counted.
    IoResult send(const UdpPath& path, ByteSpan data, size_t segment_bytes = 0);

    // From now on edges go to `handler` (after the socket has updated its own flags); nullptr gives
    // them back to the coroutine calls. The caller must call receive() once after setting it: edges
    // may be past.
    void set_handler(EventHandler* handler) { handler_ = handler; }

    bool writable() const { return writable_; }

    const UdpStats& stats() const { return stats_; }

    // A descriptor of the same socket for a library that reads and writes by itself; whoever takes
    // it closes it. No event comes here any more: this object stays as a name, and holds the port
    // until it is closed, too. kSystem.
    Result<int> lend();

    // A coroutine that waits gets kClosed.
    void close();

  private:
    struct Batch;

    UdpSocket(int fd, int family, const UdpOptions& options);

    void on_ready(uint8_t ready) override;
    Error change_membership(uint32_t interface,
                            const NetAddress& group,
                            const NetAddress& source,
                            bool joins);
    Error wait(const bool& ready, CoroutineState*& waiter, Deadline deadline, const char* what);
    IoResult send_burst(const UdpPath& path, ByteSpan data, size_t segment_bytes);
    IoResult send_singly(const UdpPath& path, ByteSpan data, size_t segment_bytes);
    IoResult finish_send(ssize_t sent, size_t bytes, size_t packets);

    int fd_;
    int family_;
    bool gso_ = true;  // until the kernel refuses it
    bool readable_ = true;
    bool writable_ = true;
    int receive_buffer_bytes_ = 0;
    int send_buffer_bytes_ = 0;
    bool bursts_;
    UdpStats stats_;
    EventHandler* handler_ = nullptr;
    CoroutineState* reader_ = nullptr;
    CoroutineState* writer_ = nullptr;
    Registration registration_;
};

}  // namespace weir::io
