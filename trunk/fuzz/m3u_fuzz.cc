// Playlists: read, written and read again, which gives the same; a changed attribute is found.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "proto/m3u/playlist.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using weir::m3u::Info;
    using weir::m3u::Playlist;
    const auto playlist = Playlist::parse({reinterpret_cast<const char*>(data), size});
    if (!playlist.ok()) {
        return 0;
    }
    const auto again = Playlist::parse(playlist->write());
    WEIR_CHECK(again.ok() && *again == *playlist);
    if (!playlist->header.empty() &&
        playlist->header_info.attributes.size() < weir::m3u::kMaxAttributes) {
        const std::string changed =
            weir::m3u::with_attribute(playlist->header, "x-tvg-url", "http://x/epg.xml");
        WEIR_CHECK(Info::parse(changed).get("x-tvg-url") == "http://x/epg.xml");
    }
    return 0;
}
