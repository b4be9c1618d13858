#include "config/process_config.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/fnv.h"
#include "base/strings.h"

namespace weir::config {
namespace {

// "[::]:8000" to "[::]:8002". A port that the system chooses stays so.
void shift_port(ListenAddress& listen, uint32_t by) {
    const size_t colon = listen.address.rfind(':');
    const auto port = parse_uint(std::string_view(listen.address).substr(colon + 1), 1, 65'535);
    if (port) {
        listen.address = fmt::format("{}:{}", listen.address.substr(0, colon), *port + by);
    }
}

}  // namespace

uint32_t home_of(const stream::StreamKey& key, uint32_t count) {
    return static_cast<uint32_t>(fnv1a(fmt::format("{}\n{}\n{}", key.vhost, key.app, key.name)) %
                                 count);
}

std::string check_processes(const Config& config) {
    if (config.processes == 1) {
        return {};
    }
    const auto has_dvr = [](const VhostConfig& section) {
        return section.enabled && !section.hls.path.empty() && section.hls.dvr.count() > 0;
    };
    for (const VhostConfig& vhost : config.vhosts) {
        if (has_dvr(vhost) || std::ranges::any_of(vhost.applications, has_dvr)) {
            return "hls { dvr; } needs \"processes 1;\": a publisher that comes back may be in "
                   "another process, which does not have what was there before. A second server "
                   "of one process can have the window of what is sent to it by \"forward\"";
        }
    }
    return {};
}

void fit_to_process(Config& config, uint32_t index, uint32_t count) {
    config.processes = count;
    config.process = index;
    config.pid.clear();
    if (!config.rtc_server.single_port) {
        for (ListenAddress& listen : config.rtc_server.listen) {
            shift_port(listen, index);
        }
    }
    for (auto* const list : {&config.rtsp_server.rtp_listen, &config.rtsp_server.rtcp_listen}) {
        for (ListenAddress& listen : *list) {
            shift_port(listen, 2 * index);  // a pair each
        }
    }
    if (const std::vector<uint16_t> cores = config.cpu_affinity.numbers(); cores.size() >= count) {
        config.cpu_affinity.ranges.resize(1);
        config.cpu_affinity.ranges.front().first = cores[index];
        config.cpu_affinity.ranges.front().last = cores[index];
    }
    if (index > 0) {
        config.srt_server.enabled = false;
        config.sip_server.enabled = false;
    }
}

}  // namespace weir::config
