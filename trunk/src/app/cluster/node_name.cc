#include "app/cluster/node_name.h"

#include <array>
#include <cctype>

#include <unistd.h>

namespace weir::app {

namespace {

constexpr size_t kMaxNodeName = 64;

}  // namespace

std::string node_name(const config::ClusterConfig& cluster) {
    if (!cluster.node.empty()) {
        return cluster.node;
    }
    std::array<char, 256> host{};
    std::string name;
    if (gethostname(host.data(), host.size() - 1) == 0) {
        name = host.data();
    }
    name.resize(std::min(name.size(), kMaxNodeName));
    for (char& c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_') {
            c = '-';
        }
    }
    return name.empty() ? "weir" : name;
}

}  // namespace weir::app
