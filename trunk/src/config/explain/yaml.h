// YAML as a tree, for configurations of servers that are written in it. libyaml (Debian) reads it;
// what it costs is bounded here. Pure. Private to `weir --explain`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_lexer.h"

namespace weir::config {

inline constexpr size_t kMaxYamlNodes = 100'000;  // with the copies that aliases make
inline constexpr size_t kMaxYamlDepth = 32;
inline constexpr size_t kMaxYamlScalar = 16'384;  // bytes of one text

struct YamlNode {
    enum class Kind : uint8_t { kScalar, kList, kMap };

    Kind kind = Kind::kScalar;
    uint32_t line = 0;                // 1-based
    std::string text;                 // of a scalar; empty: also null
    std::vector<YamlNode> items;      // of a list
    std::vector<std::string> keys;    // of a map, each beside its value
    std::vector<YamlNode> values;     // of a map
    std::vector<uint32_t> key_lines;  // of a map

    // The value of a key of a map; null: it has none.
    const YamlNode* find(std::string_view key) const;

    // The text of a scalar of a map, or `other` where there is none or an empty one.
    std::string word(std::string_view key, std::string_view other = {}) const;
};

// One document, with aliases and merge keys (`<<`) resolved. Nothing, with a report: it cannot be
// read, a key is there twice, or it is larger than the limits.
std::optional<YamlNode> parse_yaml(std::string_view text, DiagnosticSink& sink);

}  // namespace weir::config
