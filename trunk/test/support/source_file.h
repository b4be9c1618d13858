// Files of the repository that tests read.
#pragma once

#include <string>

namespace weir::test {

// Where a file is; `name` from trunk/ on, as "test/data/sdp/x.sdp".
std::string source_file(const std::string& name);

}  // namespace weir::test
