#include "session/srt/srt_rules.h"

#include "base/strings.h"

namespace weir::session {

std::string srt_vhost_of(const srt::StreamId& id) {
    if (!id.vhost.empty()) {
        return id.vhost;
    }
    return std::string(query_value(parse_query(id.query), "vhost").value_or(""));
}

io::SrtVerdict SrtRules::decide(std::string_view stream_id) const {
    const Result<srt::StreamId> id = srt::StreamId::parse(stream_id);
    if (!id.ok() || id->resource.find('/') == std::string::npos) {
        return {io::kSrtBadRequest, {}};
    }
    const std::string name = srt_vhost_of(*id);
    const SrtVhost* found = nullptr;
    for (const SrtVhost& vhost : vhosts_) {
        if (!vhost.name.empty() && equals_ignore_case(vhost.name, name)) {
            found = &vhost;
            break;
        }
        found = vhost.name.empty() ? &vhost : found;
    }
    if (found == nullptr || !found->enabled) {
        return {io::kSrtForbidden, {}};
    }
    return {0, found->options};
}

}  // namespace weir::session
