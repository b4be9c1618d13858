#include "app/protocols/flv_protocol.h"

#include "diagnosis/memory_report.h"
#include "net/source/sources.h"

namespace weir::app {

std::span<const Transport> FlvProtocol::transports() const {
    static constexpr Transport kAll[] = {{"flv"}, {"ws-flv"}};
    return kAll;
}

void FlvProtocol::add_sources(net::Sources& sources) {
    for (const char* scheme : {"http", "https"}) {
        sources.add(net::SourceRole::kPull, scheme, pull_);
    }
}

void FlvProtocol::add_routes(net::HttpRouter& open, net::HttpRouter&) {
    play_.add_to(open,
                 [this](net::HttpExchange& exchange, std::string_view app, std::string_view name) {
                     return relays_.serve(exchange, app, name);
                 });
}

void FlvProtocol::add_features(net::Json& features) const {
    features["flv"] = true;
    features["ws_flv"] = true;
}

void FlvProtocol::add_memory(diagnosis::MemoryReport& report) const {
    report.add_http_kind("flv", {"flv", "ws-flv"});
}

}  // namespace weir::app
