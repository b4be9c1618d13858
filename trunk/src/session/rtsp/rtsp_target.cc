#include "session/rtsp/rtsp_target.h"

#include <vector>

#include "base/stream_path.h"
#include "base/strings.h"
#include "proto/rtsp/url.h"
#include "session/rtsp/rtsp_profile.h"

namespace weir::session {

Result<RtspTarget> RtspTarget::parse(std::string_view text, const net::Policy& policy) {
    WEIR_TRY_ASSIGN(const rtsp::Url url, rtsp::Url::parse(text));
    RtspTarget target;
    const TrackUrlView named = split_track_url(url.target);
    target.track = named.track;
    const Halves halves = split_once(named.base, '?');
    std::string_view path = halves.before;
    if (!target.track) {  // "…/trackID=0?key=KEY"
        const TrackUrlView behind_path = split_track_url(path);
        target.track = behind_path.track;
        path = behind_path.base;
    }
    while (path.ends_with('/')) {
        path.remove_suffix(1);
    }
    target.query = halves.after;
    target.url = (url.tls ? "rtsps://" : "rtsp://") + url.authority() + std::string(path);
    const std::vector<QueryItem> items = parse_query(halves.after);
    const std::optional<std::string_view> key = query_value(items, "key");
    target.token = key ? *key : query_value(items, "token").value_or("");
    const std::optional<std::string_view> srtp = query_value(items, "srtp");
    target.srtp = srtp && *srtp != "0" && *srtp != "off";
    const std::string decoded = url_decode(path);
    const size_t slash = decoded.rfind('/');
    if (slash == std::string::npos || slash == 0 || slash + 1 == decoded.size() ||
        slash > kMaxRtspName || decoded.size() - slash > kMaxRtspName) {
        return make_error(ErrorCode::kMalformed, "a stream's address is rtsp://HOST/APP/STREAM");
    }
    WEIR_TRY(check_stream_path(decoded));
    const std::string_view view = decoded;
    target.path = view.substr(1);
    target.vhost = query_value(items, "vhost").value_or(url.host);
    target.key = policy.key_of(target.vhost, view.substr(1, slash - 1), view.substr(slash + 1));
    return target;
}

}  // namespace weir::session
