// ProcessPlacement: players go to the process that has their stream, unless that has much to do:
// then they stay where they came, and the stream comes to them.
#pragma once

#include "app/processes/connection_exchange.h"
#include "app/processes/process_link.h"
#include "io/tcp.h"
#include "net/placement.h"
#include "stream/registry.h"

namespace weir::io {
class SocketAddress;
}

namespace weir::app {

class ProcessPlacement final : public net::Placement {
  public:
    // All must outlive this. `max_percent`: a process that works more of its time gets no players
    // of others.
    ProcessPlacement(ProcessLink& link,
                     ConnectionExchange& exchange,
                     stream::Registry& registry,
                     const uint32_t& max_percent)
        : link_(link), exchange_(exchange), registry_(registry), max_percent_(max_percent) {}

    // Where a stream is, or is to be brought to when nobody publishes it: the same answer in all
    // processes.
    uint32_t home_of(const stream::StreamKey& key) const;

    std::optional<uint32_t> better_process(const stream::StreamKey& key, net::PlaceBy by) override;

    uint32_t own() const override { return link_.seat().index; }

    std::optional<uint32_t> other(uint64_t process) const override;

    std::optional<uint32_t> process_of_hash(uint64_t hash) const override {
        return other(hash % link_.seat().count);
    }

    bool move(uint32_t process,
              std::string_view kind,
              const io::TcpStream& stream,
              io::Replay replay) override {
        return exchange_.give(process, kind, stream, replay);
    }

    bool move_inside(uint32_t process,
                     std::string_view kind,
                     const io::TcpStream& inside,
                     const io::SocketAddress& local,
                     io::Replay replay) override {
        return exchange_.give_inside(process, kind, inside, local, replay);
    }

  private:
    ProcessLink& link_;
    ConnectionExchange& exchange_;
    stream::Registry& registry_;
    const uint32_t& max_percent_;  // of the configuration, which may be loaded again
};

}  // namespace weir::app
