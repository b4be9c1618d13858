// A command of Redis: words of any bytes.
#pragma once

#include <string>
#include <vector>

namespace weir::redis {

using Command = std::vector<std::string>;

// Puts the bytes of the command, which has one word at least, behind `out`.
void write_command(const Command& command, std::string& out);

}  // namespace weir::redis
