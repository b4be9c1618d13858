#include "bench/load/core/udp_drops.h"

#include <algorithm>
#include <charconv>

namespace weir::load {

// "  12: E10000EF:1388 00000000:0000 07 ... 0": the local address second, the drops last.
uint64_t udp_drops(std::string_view table, uint16_t port) {
    uint64_t sum = 0;
    while (!table.empty()) {
        std::string_view line = table.substr(0, table.find('\n'));
        table.remove_prefix(std::min(table.size(), line.size() + 1));
        line = line.substr(0, line.find_last_not_of(" \r") + 1);
        const size_t number = line.find(':');  // of the row
        const size_t colon = number == std::string_view::npos ? number : line.find(':', number + 1);
        const size_t last = line.rfind(' ');
        if (colon == std::string_view::npos || last == std::string_view::npos || last < colon) {
            continue;
        }
        uint32_t its = 0;
        uint64_t drops = 0;
        std::from_chars(line.data() + colon + 1, line.data() + line.size(), its, 16);
        std::from_chars(line.data() + last + 1, line.data() + line.size(), drops);
        sum += its == port ? drops : 0;
    }
    return sum;
}

uint64_t backlog_drops(std::string_view table) {
    uint64_t sum = 0;
    while (!table.empty()) {
        const std::string_view line = table.substr(0, table.find('\n'));
        table.remove_prefix(std::min(table.size(), line.size() + 1));
        const size_t space = line.find(' ');
        uint64_t drops = 0;
        if (space != std::string_view::npos) {
            std::from_chars(line.data() + space + 1, line.data() + line.size(), drops, 16);
        }
        sum += drops;
    }
    return sum;
}

}  // namespace weir::load
