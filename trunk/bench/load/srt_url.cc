#include "bench/load/srt_url.h"

#include "base/strings.h"

namespace weir::load {

io::SrtOptions srt_options_of(const Url& url, srt::StreamMode mode) {
    const Halves halves = split_once(url.path, '?');
    const std::vector<QueryItem> query = parse_query(halves.after);
    const auto value = [&query](std::string_view name) {
        return query_value(query, name).value_or("");
    };
    srt::StreamId id;
    id.resource = halves.before.substr(halves.before.starts_with('/') ? 1 : 0);
    id.token = value("key");
    id.mode = mode;
    io::SrtOptions options;
    const std::string_view given = value("streamid");
    options.stream_id = given.empty() ? id.write() : std::string(given);
    options.passphrase = value("passphrase");
    options.key_bytes = static_cast<uint8_t>(parse_uint(value("pbkeylen"), 16, 32).value_or(0));
    options.latency =
        Millis(static_cast<int64_t>(parse_uint(value("latency"), 0, 8'000).value_or(120)));
    return options;
}

}  // namespace weir::load
