// What is wrong with a configuration, and where.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir {

// More than this of one file are counted, not listed.
inline constexpr size_t kMaxDiagnostics = 100;

struct Diagnostic {
    std::string file;     // as it was given; empty when there is no file
    uint32_t line = 0;    // 1-based; 0 when the whole file is meant (it cannot be read)
    uint32_t column = 0;  // 1-based, in characters (not bytes); a tab is one
    std::string message;  // what was found, what was expected, the nearest known name

    // "conf/weir.conf:3:9: message".
    std::string to_string() const;
};

// All of them, one a line, in the order of the file.
std::string to_string(const std::vector<Diagnostic>& diagnostics);

}  // namespace weir
