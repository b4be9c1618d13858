// ProcessPlacement: players go to the process that has their stream, unless that has much to do:
// then they stay where they came, and the stream comes to them.
#pragma once

#include "app/processes/connection_exchange.h"
#include "app/processes/process_link.h"
#include "net/placement.h"
#include "stream/registry.h"

namespace weir::app {

class ProcessPlacement final : public net::Placement {
  public:
    // A process that works more of its time than this gets no players of others.
    static constexpr double kTooBusy = 0.6;

    // All must outlive this.
    ProcessPlacement(ProcessLink& link, ConnectionExchange& exchange, stream::Registry& registry)
        : link_(link), exchange_(exchange), registry_(registry) {}

    // Where a stream is, or is to be brought to when nobody publishes it: the same answer in all
    // processes.
    uint32_t home_of(const stream::StreamKey& key) const;

    std::optional<uint32_t> better_process(const stream::StreamKey& key, net::PlaceBy by) override;

    uint32_t own() const override { return link_.seat().index; }

    std::optional<uint32_t> other(uint64_t process) const override;

    bool move(uint32_t process,
              std::string_view kind,
              const io::TcpStream& stream,
              io::Replay replay) override {
        return exchange_.give(process, kind, stream, replay);
    }

  private:
    ProcessLink& link_;
    ConnectionExchange& exchange_;
    stream::Registry& registry_;
};

}  // namespace weir::app
