#include "proto/http/not_here.h"

namespace weir::http {
namespace {

struct Missing {
    std::string_view end;
    std::string_view reason;
};

constexpr Missing kMissing[] = {
    {".mpd",
     "MPEG-DASH is not in this version; streams are at /app/stream.m3u8 (HLS), /app/stream.flv "
     "(HTTP-FLV) and /rtc/v1/whep/ (WebRTC)"},
};

}  // namespace

std::string_view why_not_here(std::string_view path, std::string_view otherwise) {
    for (const Missing& missing : kMissing) {
        if (path.ends_with(missing.end)) {
            return missing.reason;
        }
    }
    return otherwise;
}

}  // namespace weir::http
