#include "proto/hls/reload.h"

#include <charconv>

namespace weir::hls {
namespace {

constexpr size_t kMaxDigits = 18;

Error read_number(const http::Query& query, std::string_view name, std::optional<uint64_t>& out) {
    const auto text = query.get(name);
    if (!text) {
        return {};
    }
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (text->empty() || text->size() > kMaxDigits || error != std::errc() ||
        end != text->data() + text->size()) {
        return make_error(ErrorCode::kMalformed, "{} is a whole number", name);
    }
    out = value;
    return {};
}

}  // namespace

Result<Reload> Reload::parse(const http::Query& query) {
    Reload reload;
    WEIR_TRY(read_number(query, "_HLS_msn", reload.number));
    WEIR_TRY(read_number(query, "_HLS_part", reload.part));
    if (reload.part && !reload.number) {
        return make_error(ErrorCode::kMalformed, "_HLS_part means nothing without _HLS_msn");
    }
    const std::string_view skip = query.get_or("_HLS_skip", "");
    reload.skip = skip == "YES" || skip == "v2";
    return reload;
}

}  // namespace weir::hls
