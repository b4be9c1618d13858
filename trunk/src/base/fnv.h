// FNV-1a with 64 bits: tells texts apart, the same in every run. No protection from who wants two
// of one hash.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

// `hash`: of what came before.
constexpr uint64_t fnv1a(std::string_view text, uint64_t hash = 0xCBF29CE484222325) {
    for (const char each : text) {
        hash = (hash ^ static_cast<uint8_t>(each)) * 0x100000001B3;
    }
    return hash;
}

}  // namespace weir
