// What the name of a stream may be, for all protocols: one rule, since the names that one protocol
// takes go into the requests, the files and the commands of others.
#pragma once

#include <string_view>

#include "base/error.h"

namespace weir {

// `path`: an app and a name, "live/room/cam", decoded. kMalformed for the one who asks: control
// characters, or "." or ".." as a part. Doubled slashes count for nothing.
Error check_stream_path(std::string_view path);

}  // namespace weir
