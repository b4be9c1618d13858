// HookAction: what hook servers are asked or told about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::net {

enum class HookAction : uint8_t {
    kConnect,
    kClose,
    kPublish,
    kUnpublish,
    kPlay,
    kStop,
    kCall,  // of a telephone, before it is answered
    kCallEnd,
    kRecord,  // a file is finished
    kDvr,     // the same, by SRS's name
    kHls,     // a segment is on the disk
};

inline constexpr size_t kHookActions = 11;

// "on_connect", "on_close" ...
std::string_view to_string(HookAction action);

}  // namespace weir::net
