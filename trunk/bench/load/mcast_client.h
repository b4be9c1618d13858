// McastClient: one receiver of a group, over HTTP from a gateway or by joining it itself. A
// coroutine each, ended by stop().
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/tcp.h"
#include "net/ts/group_receiver.h"
#include "net/ts/rtp_order.h"

#include "bench/load/core/http_body.h"
#include "bench/load/core/mcast_check.h"

namespace weir::load {

// What all clients add to (microseconds).
struct McastTotals {
    Histogram connect;
    Histogram first_byte;  // from the request, or from joining
    Histogram delay;
};

class McastClient {
  public:
    // `totals` must outlive it. `group`: its number, for the stamps.
    McastClient(uint32_t group, McastTotals& totals)
        : check_(group, totals.delay), totals_(totals) {}

    McastClient(const McastClient&) = delete;
    McastClient& operator=(const McastClient&) = delete;
    virtual ~McastClient();  // stop() must have been called

    // Never yields. `deadline`: of connecting. The error of having no coroutine.
    Error start(io::Deadline deadline);

    // Yields.
    void stop();

    McastCheck& check() { return check_; }

    const McastCheck& check() const { return check_; }

    bool connected() const { return connected_; }

    bool has_media() const { return check_.counts().packets > 0; }

    // It has ended, by itself.
    bool ended() const { return ended_; }

    const std::string& why() const { return why_; }

    // Datagrams that the kernel dropped before us, and those that are no transport stream.
    virtual uint64_t kernel_drops() const { return 0; }

    virtual uint64_t strange_datagrams() const { return 0; }

  protected:
    // Yields. Until it ends; the error says why. connected() is called on the way.
    virtual Error receive(io::Deadline connect) = 0;

    void set_connected();
    void feed(ByteSpan bytes);

  private:
    McastCheck check_;
    McastTotals& totals_;
    std::string why_;
    uint64_t started_ns_ = 0;
    uint64_t asked_ns_ = 0;
    bool connected_ = false;
    bool ended_ = false;
    io::Coroutine coroutine_;
};

// GET of an address of a gateway.
class McastHttpClient final : public McastClient {
  public:
    // `buffer` is shared by all clients, and must outlive it. `from` may be null.
    McastHttpClient(uint32_t group,
                    McastTotals& totals,
                    const io::SocketAddress& server,
                    std::string request,
                    const io::SocketAddress* from,
                    std::span<uint8_t> buffer)
        : McastClient(group, totals),
          server_(server),
          request_(std::move(request)),
          from_(from),
          buffer_(buffer) {}

  private:
    Error receive(io::Deadline connect) override;
    Error read_all(io::TcpStream& stream, bool& more);

    io::SocketAddress server_;
    std::string request_;
    const io::SocketAddress* from_;
    std::span<uint8_t> buffer_;
    HttpBody body_;
};

// A member of the group.
class McastMember final : public McastClient, private net::RtpOrderOutput {
  public:
    McastMember(uint32_t group, McastTotals& totals, net::GroupAddress address)
        : McastClient(group, totals), address_(std::move(address)) {}

    uint64_t kernel_drops() const override;

    uint64_t strange_datagrams() const override { return order_.counters().foreign; }

  private:
    Error receive(io::Deadline connect) override;

    void on_ordered(MonoTime, ByteSpan bytes) override { feed(bytes); }

    void on_gap() override {}

    net::GroupAddress address_;
    std::unique_ptr<net::GroupReceiver> receiver_;
    net::RtpOrder order_{*this};
};

}  // namespace weir::load
