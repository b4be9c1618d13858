#include "io/port_holder.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "base/log.h"

namespace weir::io {
namespace {

namespace fs = std::filesystem;

// proc(5): "sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode ...", all
// hexadecimal but the inode.
void collect_holders(const char* table,
                     PortKind kind,
                     uint16_t port,
                     std::set<std::string>& sockets) {
    constexpr std::string_view kListening = "0A";
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);  // headings
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        std::string slot;
        std::string local;
        std::string state;
        std::string skipped;
        std::string inode;
        fields >> slot >> local >> skipped >> state >> skipped >> skipped >> skipped >> skipped >>
            skipped >> inode;
        size_t colon = local.rfind(':');
        const bool holds = kind == PortKind::kUdp || state == kListening;
        if (holds && colon != std::string::npos &&
            std::strtoul(local.c_str() + colon + 1, nullptr, 16) == port) {
            sockets.insert(fmt::format("socket:[{}]", inode));
        }
    }
}

bool holds_one(const fs::path& process, const std::set<std::string>& sockets) {
    std::error_code failure;
    for (fs::directory_iterator it(process / "fd", failure), end; !failure && it != end;
         it.increment(failure)) {
        std::error_code gone;
        fs::path target = fs::read_symlink(it->path(), gone);
        if (!gone && sockets.contains(target.string())) {
            return true;
        }
    }
    return false;
}

}  // namespace

std::string describe_port_holder(PortKind kind, uint16_t port) {
    std::set<std::string> sockets;
    const bool udp = kind == PortKind::kUdp;
    collect_holders(udp ? "/proc/net/udp" : "/proc/net/tcp", kind, port, sockets);
    collect_holders(udp ? "/proc/net/udp6" : "/proc/net/tcp6", kind, port, sockets);
    if (sockets.empty()) {
        return {};
    }
    std::error_code failure;
    for (fs::directory_iterator it("/proc", failure), end; !failure && it != end;
         it.increment(failure)) {
        std::string pid = it->path().filename().string();
        if (std::all_of(pid.begin(), pid.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
            holds_one(it->path(), sockets)) {
            std::ifstream file(it->path() / "comm");
            std::string name;
            std::getline(file, name);
            return fmt::format("held by process {} ({})", pid, log::escaped(name, 32));
        }
    }
    return {};
}

}  // namespace weir::io
