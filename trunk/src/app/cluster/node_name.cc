#include "app/cluster/node_name.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <unistd.h>

#include <fmt/format.h>

#include "proto/cluster/names.h"

namespace weir::app {

std::string node_name(const config::Config& config) {
    std::string name = config.cluster.node.empty() ? machine_name() : config.cluster.node;
    if (config.processes > 1) {
        const std::string process = fmt::format("-p{}", config.process);
        name.resize(std::min(name.size(), cluster::kMaxNodeName - process.size()));
        name += process;
    }
    return name;
}

std::string machine_name() {
    std::array<char, 256> host{};
    std::string name;
    if (gethostname(host.data(), host.size() - 1) == 0) {
        name = host.data();
    }
    name.resize(std::min(name.size(), cluster::kMaxNodeName));
    for (char& c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_') {
            c = '-';
        }
    }
    return name.empty() ? "weir" : name;
}

}  // namespace weir::app
