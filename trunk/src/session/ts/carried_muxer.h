// The transport stream of a publisher as it came, as a wire format: for players who want all that
// is in it, or what no other format carries.
#pragma once

#include "base/bytes.h"
#include "base/object_count.h"
#include "net/http_play.h"
#include "stream/muxer.h"

namespace weir::session {

class CarriedMuxer final : public stream::Muxer, private Counted<CarriedMuxer> {
  public:
    static constexpr ObjectName kObjectName{"carried_muxer", "ts"};

    CarriedMuxer() { log().keep_out_of_file(); }

    media::Audience audience() const override { return media::Audience::kTransportStream; }

    void on_packet(const media::PacketRef& packet, const stream::Configs* start) override;

    // The tables that a player needs before the log's start.
    const Bytes& front() const { return front_; }

  private:
    Bytes front_;
};

// Lives as long as the process.
const net::HttpFormat& carried_http_format();

}  // namespace weir::session
