#include "app/protocols/ts_protocol.h"

#include "base/log.h"
#include "diagnosis/memory_report.h"
#include "io/deadline.h"
#include "net/fanout.h"
#include "net/source/sources.h"
#include "stream/stream.h"

namespace weir::app {

TsProtocol::TsProtocol(const ProtocolContext& context)
    : play_(context.services, session::ts_http_format()),
      playlist_(context.services.policy),
      gateway_(
          context.services, [this](std::string_view name) { return playlist_.find(name); }, hints_),
      groups_([&fanout = context.services.fanout](
                  const stream::Stream& stream) { return fanout.players(stream); },
              hints_),
      group_out_(context.services) {
    groups_.join_again_each(context.config.group_rejoin);
}

std::span<const Transport> TsProtocol::transports() const {
    static constexpr Transport kAll[] = {{"ts"}, {"ws-ts"}};
    return kAll;
}

namespace {

session::PlaylistOptions playlist_options(const config::Config& config) {
    return {.playlist = config.playlist.place,
            .guide = config.playlist.guide,
            .refresh = config.playlist.refresh};
}

}  // namespace

Error TsProtocol::prepare(const config::Config& next, io::WorkerPool& workers) {
    if (workers_ != nullptr) {
        return {};  // reconfigure() follows, if all agree
    }
    workers_ = &workers;
    return playlist_.use(playlist_options(next), workers);
}

void TsProtocol::reconfigure(const config::Config& config) {
    groups_.join_again_each(config.group_rejoin);
    if (workers_ != nullptr) {
        if (const Error error = playlist_.use(playlist_options(config), *workers_)) {
            log::error("playlist: {}", error.message());
        }
    }
}

Error TsProtocol::stop(io::Deadline) {
    playlist_.stop();
    return {};
}

void TsProtocol::add_sources(net::Sources& sources) {
    for (const char* scheme : {"udp", "rtp"}) {
        sources.add(net::SourceRole::kPull, scheme, groups_);
        sources.add(net::SourceRole::kForward, scheme, group_out_);
    }
}

void TsProtocol::add_routes(net::HttpRouter& open, net::HttpRouter&) {
    play_.add_to(open);
    gateway_.add_to(open);
    playlist_.add_to(open);
}

void TsProtocol::add_features(net::Json& features) const {
    features["ts"] = true;
    features["ws_ts"] = true;
}

void TsProtocol::add_memory(diagnosis::MemoryReport& report) const {
    report.add_http_kind("ts", {"ts", "ws-ts"});
}

}  // namespace weir::app
