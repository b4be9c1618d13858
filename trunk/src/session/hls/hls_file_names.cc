#include "session/hls/hls_file_names.h"

#include <string_view>

#include "net/record_name.h"

namespace weir::session {
namespace {

constexpr std::string_view kPlaylistEnd = ".m3u8";

std::string stream_name(std::string_view name) {
    std::string safe = net::safe_name(name);
    if (safe == "index") {
        return "%69ndex";
    }
    if (safe.ends_with(kPlaylistEnd)) {
        safe.replace(safe.size() - kPlaylistEnd.size(), 1, "%2E");
    }
    return safe;
}

}  // namespace

std::string hls_folder_of(const stream::StreamKey& key) {
    const bool usual = key.vhost.empty() || key.vhost == stream::kDefaultVhost;
    return (usual ? "" : net::safe_name(key.vhost) + "/") + net::safe_name(key.app) + "/" +
           stream_name(key.name);
}

}  // namespace weir::session
