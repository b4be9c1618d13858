// The gateway to HTTP from other ways of delivery, for streams that players ask for by an address:
//
//     /udp/239.1.1.1:5000, /rtp/239.1.1.1:5000    the transport stream of that group, as it comes
//     /tv/NAME                                    the group that the playlist has under that name
//     /rtsp/camera:8554/live/ch1                  a stream of that server as a transport stream
//
// Whether a datagram has an RTP header, it shows itself, so /udp and /rtp are the same. Who may be
// asked for says net::Policy; the stream is brought by its source (config/asked_sources.h), one for
// all players.
#pragma once

#include <functional>
#include <string_view>

#include "net/http_play.h"
#include "net/ts/group_address.h"
#include "session/ts/fast_change_hints.h"

namespace weir::http {
class Query;
}

namespace weir::session {

class AddressGateway {
  public:
    // `channel` gives the group of a name of the playlist, good until the next yield; null: none
    // has it.
    using ChannelLookup = std::function<const net::GroupAddress*(std::string_view name)>;

    // `hints` must outlive this.
    AddressGateway(const net::Services& services, ChannelLookup channel, FastChangeHints& hints);

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

  private:
    Error note_fast_change(const stream::StreamKey& key, const http::Query& query);
    void handle_group(net::HttpExchange& exchange, std::string_view text);
    void handle_channel(net::HttpExchange& exchange, std::string_view name);
    void handle_rtsp(net::HttpExchange& exchange, std::string_view text);

    const net::Policy& policy_;
    FastChangeHints& hints_;
    net::HttpPlay carried_;
    net::HttpPlay remade_;
    ChannelLookup channel_;
    std::function<Error(const stream::StreamKey&)> check_;
};

}  // namespace weir::session
