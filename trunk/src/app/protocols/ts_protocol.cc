#include "app/protocols/ts_protocol.h"

namespace weir::app {

std::span<const Transport> TsProtocol::transports() const {
    static constexpr Transport kAll[] = {{"ts"}, {"ws-ts"}};
    return kAll;
}

void TsProtocol::add_sources(net::Sources& sources) {
    for (const char* scheme : {"udp", "rtp"}) {
        sources.add(net::SourceRole::kPull, scheme, groups_);
    }
}

void TsProtocol::add_routes(net::HttpRouter& open, net::HttpRouter&) {
    play_.add_to(open);
}

void TsProtocol::add_features(net::Json& features) const {
    features["ts"] = true;
    features["ws_ts"] = true;
}

void TsProtocol::add_memory(diagnosis::MemoryReport& report) const {
    report.add_http_kind("ts", {"ts", "ws-ts"});
}

}  // namespace weir::app
