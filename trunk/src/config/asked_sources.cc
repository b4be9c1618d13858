#include "config/asked_sources.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "net/source/asked_stream.h"

namespace weir::config {
namespace {

Error check_group(const VhostConfig& section, const net::GroupAddress& group) {
    const std::string ip = group.to.ip_text();
    const std::optional<IpAddress> address = IpAddress::parse(ip);
    const bool allowed = address && group.is_group() &&
                         std::ranges::any_of(section.allow_groups, [&](const IpNetwork& network) {
                             return network.contains(*address);
                         });
    return allowed ? Error()
                   : make_error(ErrorCode::kDenied,
                                "the group {} may not be asked for; add \"allow_groups {};\", or a "
                                "network with it, to {}",
                                ip, ip, section.title());
}

Error check_rtsp(const VhostConfig& section, const net::SourceUrl& url) {
    return net::is_one_of(section.allow_rtsp, url)
               ? Error()
               : make_error(ErrorCode::kDenied,
                            "streams of {} may not be asked for; add \"allow_rtsp {};\" to {}",
                            log::escaped(url.authority()), log::escaped(url.host), section.title());
}

}  // namespace

Result<net::SourceSpec> asked_source(const VhostConfig& section, const stream::StreamKey& key) {
    WEIR_TRY_ASSIGN(net::AskedStream asked, net::AskedStream::of(key));
    net::SourceSpec spec;
    spec.key = key;
    spec.url = std::move(asked.url);
    spec.range = std::move(asked.range);
    spec.shown = spec.url.shown();
    spec.on_demand = true;
    spec.linger = section.group_linger;
    if (spec.url.is_group()) {
        WEIR_TRY(check_group(section, spec.url.group));
        spec.carried = true;
        if (spec.url.group.interface.empty()) {
            spec.url.group.interface = section.group_interface;
        }
    } else {
        WEIR_TRY(check_rtsp(section, spec.url));
        spec.only_servers = section.allow_rtsp;
    }
    return spec;
}

Error may_bring(const VhostConfig& section, const stream::StreamKey& key) {
    Result<net::SourceSpec> asked = asked_source(section, key);
    return asked.ok() ? Error() : asked.take_error();
}

}  // namespace weir::config
