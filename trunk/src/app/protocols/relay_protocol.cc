#include "app/protocols/relay_protocol.h"

#include <array>

#include <fmt/format.h>

#include "net/api/exposition.h"
#include "net/source/source.h"
#include "net/source/source_machine.h"
#include "net/source/sources.h"

namespace weir::app {

std::span<const Transport> RelayProtocol::transports() const {
    static constexpr Transport kAll[] = {{"relay"}};
    return kAll;
}

void RelayProtocol::add_sources(net::Sources& sources) {
    sources_ = &sources;
    sources.add(net::SourceRole::kPull, "relay", pull_);
}

Error RelayProtocol::prepare(const config::Config& next, io::WorkerPool& workers) {
    if (workers_ == nullptr) {  // at the start
        workers_ = &workers;
        set_options(next);
    }
    return {};
}

void RelayProtocol::reconfigure(const config::Config& config) {
    set_options(config);
}

void RelayProtocol::set_options(const config::Config& config) {
    pull_.set_options({.workers = workers_, .aac_bits_per_second = config.rtc_server.aac_bitrate});
}

void RelayProtocol::add_features(net::Json& features) const {
    features["relay"] = true;
}

void RelayProtocol::add_metrics(net::Exposition& text) const {
    const net::RelayStats& stats = node_.stats();
    std::array<uint64_t, net::kSourceStates> pulls{};
    if (sources_ != nullptr) {
        sources_->for_each([&pulls](const net::Source& source) {
            if (source.spec().relayed) {
                pulls[static_cast<size_t>(source.machine().state())]++;
            }
        });
    }
    constexpr std::string_view kPulls = "weir_relay_pulls";
    text.head(kPulls, "gauge", "Streams that are pulled from other nodes, by state.");
    for (size_t state = 0; state < pulls.size(); state++) {
        text.sample(
            kPulls, pulls[state],
            fmt::format("{{state=\"{}\"}}", net::to_string(static_cast<net::SourceState>(state))));
    }
    text.single("weir_relay_bytes_total", "counter", "Bytes that came from other nodes.",
                stats.bytes);
    constexpr std::string_view kEnds = "weir_relay_reconnects_total";
    text.head(kEnds, "counter", "Pulls from other nodes that ended though they were wanted.");
    for (size_t i = 0; i < stats.ended.size(); i++) {
        text.sample(
            kEnds, stats.ended[i],
            fmt::format("{{reason=\"{}\"}}", net::to_string(static_cast<net::RelayEnd>(i))));
    }
    text.single("weir_relay_answered_total", "counter",
                "Requests of other nodes that got a stream.", stats.answered);
    constexpr std::string_view kRefused = "weir_relay_refused_total";
    text.head(kRefused, "counter", "Requests of other nodes that were refused.");
    for (size_t i = 0; i < stats.refused.size(); i++) {
        text.sample(
            kRefused, stats.refused[i],
            fmt::format("{{reason=\"{}\"}}", net::to_string(static_cast<net::RelayRefusal>(i))));
    }
}

}  // namespace weir::app
