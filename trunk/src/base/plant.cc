#include "base/plant.h"

#if WEIR_PLANTS

#include <cstdlib>

namespace weir::plant {

bool listed(std::string_view list, std::string_view name) {
    while (!list.empty()) {
        const size_t comma = list.find(',');
        if (list.substr(0, comma) == name) {
            return true;
        }
        list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    }
    return false;
}

bool active(std::string_view name) {
    static const char* const list = std::getenv("WEIR_PLANT");
    return list != nullptr && listed(list, name);
}

}  // namespace weir::plant

#endif
