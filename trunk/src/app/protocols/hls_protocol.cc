#include "app/protocols/hls_protocol.h"

#include "app/processes/process_link.h"
#include "config/named_stream.h"
#include "diagnosis/memory_report.h"
#include "net/api/exposition.h"
#include "stream/stream.h"

namespace weir::app {
namespace {

// SRT and RTSP bring the first sound half a second behind the first picture.
constexpr int64_t kSettleMs = 1'000;

session::HlsFolders::MakeDisk make_disk(const ProcessLink* link) {
    return [seat = folder_seat(link)](const std::string& path) {
        return std::make_unique<session::HlsDiskFolder>(path, seat);
    };
}

}  // namespace

HlsProtocol::HlsProtocol(const ProtocolContext& context)
    : config_(context.config),
      service_(context.services, *this, make_disk(context.link), context.make_workers) {}

std::span<const Transport> HlsProtocol::transports() const {
    static constexpr Transport kAll[] = {{"hls"}, {"dash"}};
    return kAll;
}

session::HlsOptions HlsProtocol::hls_options(const stream::StreamKey& key) const {
    session::HlsOptions options;
    const config::VhostConfig* const found = config_.find_settings(key.vhost, key.app);
    if (found == nullptr) {
        return options;  // who asks is refused by the policy
    }
    const config::HlsConfig& hls = found->hls;
    options.enabled = hls.enabled;
    options.container = hls.container == config::HlsContainer::kTs ? net::SegmentContainer::kTs
                                                                   : net::SegmentContainer::kMp4;
    options.segments = {.fragment_ms = hls.fragment.count(),
                        .part_ms = hls.part.count(),
                        .window = hls.window,
                        .settle_ms = kSettleMs};
    options.sessions = hls.sessions;
    options.segments.segments_per_key = hls.encrypt ? hls.rotate : 0;
    options.always = hls.always || !hls.path.empty();
    options.path = hls.path;
    options.dvr_ms = hls.path.empty() ? 0 : hls.dvr.count();
    for (const std::string& text : hls.variants) {
        std::optional<stream::StreamKey> variant = config::named_stream(text, key);
        if (variant && *variant != key) {
            options.variants.push_back(std::move(*variant));
        }
    }
    return options;
}

// What an earlier server has left there goes before anybody is served.
void HlsProtocol::use_folders() {
    const auto use = [this](const config::VhostConfig& section) {
        if (section.enabled && section.hls.enabled && !section.hls.path.empty()) {
            service_.use_folder(section.hls.path);
        }
    };
    for (const config::VhostConfig& vhost : config_.vhosts) {
        use(vhost);
        for (const config::VhostConfig& application : vhost.applications) {
            use(application);
        }
    }
}

HlsProtocol::Totals HlsProtocol::totals() const {
    Totals totals;
    service_.for_each([&](const session::HlsPump& pump) {
        totals.streams++;
        totals.sessions += pump.players();
        totals.waiting += pump.waiting();
        totals.bytes += pump.store().bytes();
    });
    return totals;
}

void HlsProtocol::add_features(net::Json& features) const {
    features["hls"] = true;
    features["dash"] = true;
}

void HlsProtocol::add_stream_facts(const stream::Stream& stream, net::Json& json) const {
    const stream::StreamKey& key = stream.key();
    const config::VhostConfig* const found = config_.find_settings(key.vhost, key.app);
    json["hls"] = found != nullptr && found->hls.enabled;
}

net::Json HlsProtocol::summary() const {
    const Totals now = totals();
    const session::HlsStats& stats = service_.stats();
    const session::HlsDiskStats& disk = service_.folders().stats();
    net::Json folders = net::Json::array();
    service_.folders().for_each([&folders](const session::HlsFolder& folder) {
        folders.push_back({{"path", folder.path()},
                           {"streams", folder.streams()},
                           {"trouble", folder.trouble()}});
    });
    return {{"streams", now.streams},
            {"sessions", now.sessions},
            {"waiting", now.waiting},
            {"segment_bytes", now.bytes},
            {"playlists", stats.playlists},
            {"blocked_playlists", stats.blocked},
            {"segments", stats.segments},
            {"parts", stats.parts},
            {"refused", stats.refused},
            {"disk",
             {{"queued_bytes", disk.queued_bytes},
              {"segments", disk.segments},
              {"bytes", disk.bytes},
              {"lost", disk.lost},
              {"errors", disk.errors},
              {"reads", disk.reads},
              {"folders", std::move(folders)}}}};
}

void HlsProtocol::add_metrics(net::Exposition& text) const {
    const Totals now = totals();
    const session::HlsStats& stats = service_.stats();
    text.single("weir_hls_streams", "gauge", "Streams of which HLS segments are made.",
                now.streams);
    text.single("weir_hls_sessions", "gauge", "Viewers by HLS.", now.sessions);
    text.single("weir_hls_waiting", "gauge", "HLS requests that wait for a part.", now.waiting);
    text.single("weir_hls_segment_bytes", "gauge", "Bytes of the segments that are kept.",
                now.bytes);
    text.single("weir_hls_playlists_total", "counter", "Playlists that were answered.",
                stats.playlists);
    text.single("weir_hls_blocked_playlists_total", "counter",
                "Of these waited for their part of the playlist.", stats.blocked);
    text.single("weir_hls_segments_total", "counter", "Segments that were answered.",
                stats.segments);
    text.single("weir_hls_parts_total", "counter", "Parts that were answered.", stats.parts);
    text.single("weir_hls_refused_total", "counter", "HLS requests that were refused.",
                stats.refused);
    const session::HlsDiskStats& disk = service_.folders().stats();
    text.single("weir_hls_disk_queue_bytes", "gauge", "Bytes of HLS that wait for a disk.",
                disk.queued_bytes);
    text.single("weir_hls_disk_segments_total", "counter",
                "HLS segments that were written to disk.", disk.segments);
    text.single("weir_hls_disk_bytes_total", "counter",
                "Bytes of HLS that were written to disk, with headers and playlists.", disk.bytes);
    text.single("weir_hls_disk_lost_total", "counter",
                "HLS segments that a disk was too slow for, or refused.", disk.lost);
    text.single("weir_hls_disk_errors_total", "counter", "Errors of disks of HLS.", disk.errors);
    text.single("weir_hls_disk_reads_total", "counter",
                "HLS segments and headers that were answered from disk.", disk.reads);
}

void HlsProtocol::add_memory(diagnosis::MemoryReport& report) const {
    (void)report;
}

}  // namespace weir::app
