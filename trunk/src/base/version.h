// The version of this build: of the server and of the load client.
#pragma once

namespace weir {

inline constexpr const char* kVersion = "0.1.0";
inline constexpr int kVersionMajor = 0;
inline constexpr int kVersionMinor = 1;
inline constexpr int kVersionRevision = 0;

}  // namespace weir
