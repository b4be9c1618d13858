#include "session/srt/srt_rules.h"

#include "base/strings.h"

namespace weir::session {

std::string srt_vhost_of(const srt::StreamId& id) {
    if (!id.vhost.empty()) {
        return id.vhost;
    }
    return std::string(query_value(parse_query(id.query), "vhost").value_or(""));
}

Result<srt::StreamId> SrtRules::read(std::string_view stream_id) const {
    WEIR_TRY_ASSIGN(srt::StreamId id, srt::StreamId::parse(stream_id));
    if (id.resource.empty()) {
        id.resource = default_stream_;
    }
    if (id.resource.find('/') == std::string::npos) {
        return make_error(ErrorCode::kMalformed,
                          "the stream id names no APP/STREAM; srt_server default_stream is for "
                          "callers that cannot say one");
    }
    return id;
}

io::SrtVerdict SrtRules::decide(std::string_view stream_id) const {
    const Result<srt::StreamId> id = read(stream_id);
    if (!id.ok()) {
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
    return {0, found->options, id->mode != srt::StreamMode::kRequest};
}

}  // namespace weir::session
