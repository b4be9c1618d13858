// "ladder/[stream]_720": a stream that is named after another one. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stream/stream_key.h"

namespace weir::config {

// In the vhost of `key`; `[app]` and `[stream]` in `text` stand for those of `key`. Nothing when
// that is no name of a stream.
std::optional<stream::StreamKey> named_stream(std::string_view text, const stream::StreamKey& key);

}  // namespace weir::config
