#include "app/protocols/still_protocol.h"

#include "app/access/open_to_all.h"
#include "net/api/exposition.h"
#include "stream/stream.h"

namespace weir::app {

std::span<const Transport> StillProtocol::transports() const {
    static constexpr Transport kAll[] = {{session::StillService::kTransport}};
    return kAll;
}

bool StillProtocol::has_stills(const stream::StreamKey& key) const {
    const config::VhostConfig* const found = config_.find_settings(key.vhost, key.app);
    return found != nullptr && found->play.snapshots;
}

void StillProtocol::add_stream_facts(const stream::Stream& stream, net::Json& json) const {
    json["poster"] = has_stills(stream.key()) &&
                     plays_for_all(services_, stream.key(), session::StillService::kTransport);
}

void StillProtocol::add_metrics(net::Exposition& text) const {
    const session::StillStats& stats = service_.stats();
    text.single("weir_still_pictures", "gauge", "Pictures of streams that are kept.",
                service_.pictures());
    text.single("weir_still_made_total", "counter", "Pictures that were made.", stats.made);
    text.single("weir_still_answered_total", "counter", "Pictures that were answered.",
                stats.answered);
    text.single("weir_still_failed_total", "counter",
                "Key frames of which no picture could be made.", stats.failed);
}

}  // namespace weir::app
