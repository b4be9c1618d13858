// TlsScope: which of the server's certificates a listener has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::app {

// Listeners that may have certificates of their own.
enum class TlsScope : uint8_t { kRtmp, kHttp, kApi, kRtsp, kSip };

inline constexpr size_t kTlsScopes = 5;

std::string_view to_string(TlsScope scope);

}  // namespace weir::app
