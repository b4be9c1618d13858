// Small helpers for text: splitting, numbers, queries of URLs, near names. Nothing depends on the
// locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

// Without spaces, tabs, CR and LF at both ends.
std::string_view trim(std::string_view text);

// The parts between separators; empty parts are kept, so "a,,b" gives three and "" gives one. At
// most `limit` parts: the last one then holds the rest.
std::vector<std::string_view> split(std::string_view text, char separator, size_t limit = SIZE_MAX);

// The text before and after the first separator; the second part is empty when there is none.
struct Halves {
    std::string_view before;
    std::string_view after;
    bool found = false;
};

Halves split_once(std::string_view text, char separator);

// ASCII only.
std::string to_lower(std::string_view text);
bool equals_ignore_case(std::string_view a, std::string_view b);

// Decimal digits only (no sign, no space), within min..max.
std::optional<uint64_t> parse_uint(std::string_view text,
                                   uint64_t min = 0,
                                   uint64_t max = UINT64_MAX);

// The number of insertions, deletions, replacements and swaps of neighbours that turn a into b.
// Longer texts than kMaxEditDistanceText are not compared: the longer length is the answer.
inline constexpr size_t kMaxEditDistanceText = 64;
size_t edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to a (mistyped) name, ignoring case; empty when none is near, that is when
// more than a third of the name would have to change (one change is always allowed). The first one
// wins a tie. The result has the lifetime of the candidate.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

// The text with each `what`, which is not empty, replaced.
std::string replaced(std::string text, std::string_view what, std::string_view by);

// %XX decoded; a % without two hex digits stays as it is. A + stays a plus sign, also in queries:
// keys are often base64, and are typed into encoders as they are.
std::string url_decode(std::string_view text);

// "ab", "c" and ", " give "ab, c". The texts: a range of anything that converts to a string_view.
// fmt::join() does the same, and compiles all of fmt in each file that uses it.
template <typename Texts>
std::string join(const Texts& texts, std::string_view between) {
    std::string out;
    bool first = true;
    for (const auto& text : texts) {
        if (!first) {
            out += between;
        }
        first = false;
        out += std::string_view(text);
    }
    return out;
}

// Two lower-case digits for each byte.
std::string hex(std::span<const uint8_t> bytes);

struct QueryItem {
    std::string key;
    std::string value;

    bool operator==(const QueryItem&) const = default;
};

// More items than this are dropped.
inline constexpr size_t kMaxQueryItems = 64;

// "?vhost=a.b&key=x%20y" or the same without '?': decoded pairs in order. A key without '=' has an
// empty value; empty items are skipped.
std::vector<QueryItem> parse_query(std::string_view query);

// The value of the first item with that key; none when there is no such key.
std::optional<std::string_view> query_value(const std::vector<QueryItem>& items,
                                            std::string_view key);

}  // namespace weir
