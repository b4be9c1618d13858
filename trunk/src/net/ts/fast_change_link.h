// FastChangeLink: a fast channel change (FastChange) with its sockets: one for messages and media,
// or, for servers that want so, two neighbours. Read by the timer of the group's owner.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/error.h"
#include "io/udp.h"
#include "net/ts/fast_change.h"

namespace weir::net {

class FastChangeLink final : private FastChangeOutput {
  public:
    static constexpr int kReceiveBuffer = 4 * 1024 * 1024;
    static constexpr size_t kBatchesPerTurn = 8;
    static constexpr int kPairTries = 20;  // to get two neighbours

    using OnUnicast = std::function<void(MonoTime now, ByteSpan datagram)>;

    // Never yields. Asks the server. `on_unicast` gets each packet, good during its call. kSystem.
    static Result<std::unique_ptr<FastChangeLink>> open(FastChangeTarget target,
                                                        const NetAddress& group,
                                                        OnUnicast on_unicast);
    FastChangeLink(const FastChangeLink&) = delete;
    FastChangeLink& operator=(const FastChangeLink&) = delete;

    ~FastChangeLink() { change_.stop(); }

    // Never yields. What came, and what is due. True: there is more.
    bool read(MonoTime now);

    FastChange& change() { return change_; }

  private:
    using Sockets = std::pair<std::unique_ptr<io::UdpSocket>, std::unique_ptr<io::UdpSocket>>;

    FastChangeLink(FastChangeTarget target,
                   const NetAddress& group,
                   const NetAddress& local,
                   Sockets sockets,
                   OnUnicast on_unicast);

    static Result<Sockets> open_sockets(bool pair);

    void send(const NetAddress& to, ByteSpan datagram, bool from_media) override;

    void on_unicast(MonoTime now, ByteSpan datagram) override { on_unicast_(now, datagram); }

    bool read_from(MonoTime now, io::UdpSocket& socket);

    Sockets sockets_;  // of messages, and of media where that is another
    OnUnicast on_unicast_;
    FastChange change_;
};

}  // namespace weir::net
