#include "test/support/source_file.h"

namespace weir::test {

std::string source_file(const std::string& name) {
    return std::string(WEIR_SOURCE_DIR) + "/" + name;
}

}  // namespace weir::test
