#include "bench/load/core/hls_list.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace weir::load {
namespace {

constexpr size_t kMaxSegments = 20'000;
constexpr size_t kMaxParts = 20'000;
constexpr double kMaxSeconds = 86'400;
constexpr int64_t kHoldBackTargets = 3;

// The next line without its end; false: there is none.
bool take_line(std::string_view& text, std::string_view& line) {
    if (text.empty()) {
        return false;
    }
    const size_t end = text.find('\n');
    line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    return true;
}

// The value of an attribute, without quotes; empty: it is not there.
std::string_view attribute(std::string_view list, std::string_view name) {
    while (!list.empty()) {
        const size_t equals = list.find('=');
        if (equals == std::string_view::npos) {
            return {};
        }
        const std::string_view found = list.substr(0, equals);
        list.remove_prefix(equals + 1);
        const bool quoted = list.starts_with('"');
        const size_t end = quoted ? list.find('"', 1) : list.find(',');
        const std::string_view value =
            quoted ? list.substr(1, end == std::string_view::npos ? end : end - 1)
                   : list.substr(0, end);
        if (found == name) {
            return value;
        }
        const size_t comma = end == std::string_view::npos ? end : list.find(',', end);
        list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    }
    return {};
}

// Microseconds; negative: it is no duration.
int64_t duration_of(std::string_view text) {
    double seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    const bool good = error == std::errc() && std::isfinite(seconds) && seconds >= 0 &&
                      seconds <= kMaxSeconds && (end == text.data() + text.size() || *end == ',');
    return good ? static_cast<int64_t>(seconds * 1e6 + 0.5) : -1;
}

class ListParser {
  public:
    Error take(std::string_view line) {
        if (line.empty()) {
            return {};
        }
        if (!line.starts_with('#')) {
            return take_uri(line);
        }
        const size_t colon = line.find(':');
        const std::string_view tag = line.substr(0, colon);
        const std::string_view value =
            colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
        if (tag == "#EXT-X-TARGETDURATION") {
            return take_duration(value, list_.target_us);
        }
        if (tag == "#EXT-X-MEDIA-SEQUENCE") {
            const auto [end, error] =
                std::from_chars(value.data(), value.data() + value.size(), next_);
            return error == std::errc() && end == value.data() + value.size() ? Error() : wrong();
        }
        if (tag == "#EXT-X-SERVER-CONTROL") {
            return take_control(value);
        }
        if (tag == "#EXT-X-MAP") {
            header_ = attribute(value, "URI");
        } else if (tag == "#EXTINF") {
            return take_duration(value, duration_us_);
        } else if (tag == "#EXT-X-PART") {
            return take_part(value);
        } else if (tag == "#EXT-X-ENDLIST") {
            list_.ended = true;
        }
        return {};
    }

    Result<HlsList> finish() {
        if (list_.target_us <= 0) {
            return make_error(ErrorCode::kMalformed, "no #EXT-X-TARGETDURATION");
        }
        if (!parts_.empty()) {
            list_.segments.push_back({next_, {}, header_, 0, std::move(parts_)});
        }
        list_.next_number = next_;
        if (list_.hold_back_us == 0) {
            list_.hold_back_us = kHoldBackTargets * list_.target_us;
        }
        return std::move(list_);
    }

  private:
    static Error wrong() { return make_error(ErrorCode::kMalformed, "no value that can be read"); }

    static Error take_duration(std::string_view text, int64_t& out) {
        out = duration_of(text);
        return out < 0 ? wrong() : Error();
    }

    Error take_control(std::string_view attributes) {
        list_.can_block = attribute(attributes, "CAN-BLOCK-RELOAD") == "YES";
        for (const auto& [name, out] : {std::pair("HOLD-BACK", &list_.hold_back_us),
                                        std::pair("PART-HOLD-BACK", &list_.part_hold_back_us)}) {
            if (const std::string_view value = attribute(attributes, name); !value.empty()) {
                WEIR_TRY(take_duration(value, *out));
            }
        }
        return {};
    }

    Error take_part(std::string_view attributes) {
        HlsPart part;
        part.uri = attribute(attributes, "URI");
        part.independent = attribute(attributes, "INDEPENDENT") == "YES";
        WEIR_TRY(take_duration(attribute(attributes, "DURATION"), part.duration_us));
        if (part.uri.empty() || ++part_count_ > kMaxParts) {
            return make_error(ErrorCode::kLimit, "no URI, or more than {} parts", kMaxParts);
        }
        parts_.push_back(std::move(part));
        return {};
    }

    Error take_uri(std::string_view uri) {
        if (duration_us_ < 0 || list_.segments.size() == kMaxSegments) {
            return make_error(ErrorCode::kMalformed,
                              "a segment without #EXTINF, or more than {} of them", kMaxSegments);
        }
        list_.segments.push_back(
            {next_++, std::string(uri), header_, duration_us_, std::move(parts_)});
        parts_.clear();
        duration_us_ = -1;
        return {};
    }

    HlsList list_;
    uint64_t next_ = 0;
    int64_t duration_us_ = -1;
    std::string header_;
    std::vector<HlsPart> parts_;
    size_t part_count_ = 0;
};

}  // namespace

Result<HlsList> parse_hls_list(std::string_view text) {
    std::string_view line;
    if (!take_line(text, line) || line != "#EXTM3U") {
        return make_error(ErrorCode::kMalformed, "no playlist: it does not begin with #EXTM3U");
    }
    ListParser parser;
    for (size_t number = 2; take_line(text, line); number++) {
        if (Error error = parser.take(line)) {
            return std::move(error).with_context(
                fmt::format("playlist, line {} ('{}')", number, line.substr(0, 80)));
        }
    }
    return parser.finish();
}

std::string first_variant(std::string_view text) {
    std::string_view line;
    bool next = false;
    while (take_line(text, line)) {
        if (line.starts_with("#EXT-X-STREAM-INF:")) {
            next = true;
        } else if (next && !line.empty() && !line.starts_with('#')) {
            return std::string(line);
        }
    }
    return {};
}

HlsList::Place HlsList::start(bool low_latency) const {
    const int64_t hold_back = low_latency ? part_hold_back_us : hold_back_us;
    int64_t behind = 0;
    Place place{segments.empty() ? next_number : segments.front().number, 0};
    for (size_t i = segments.size(); i > 0; i--) {
        const HlsSegment& segment = segments[i - 1];
        if (low_latency && !segment.parts.empty()) {
            for (size_t part = segment.parts.size(); part > 0; part--) {
                behind += segment.parts[part - 1].duration_us;
                if (segment.parts[part - 1].independent && behind >= hold_back) {
                    return {segment.number, part - 1};
                }
            }
            continue;
        }
        behind += segment.duration_us;
        if (behind >= hold_back) {
            return {segment.number, 0};
        }
    }
    return place;
}

const HlsSegment* HlsList::find(uint64_t number) const {
    const auto found = std::ranges::lower_bound(segments, number, {}, &HlsSegment::number);
    return found != segments.end() && found->number == number ? &*found : nullptr;
}

Result<std::string> resolve_hls(std::string_view base, std::string_view reference) {
    if (reference.starts_with("//") || reference.find("://") != std::string_view::npos) {
        return make_error(ErrorCode::kUnsupported, "'{}' is on another server", reference);
    }
    if (reference.starts_with('/')) {
        return std::string(reference);
    }
    base = base.substr(0, base.find('?'));
    return std::string(base.substr(0, base.rfind('/') + 1)).append(reference);
}

}  // namespace weir::load
