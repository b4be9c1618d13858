#include "app/run/config_search.h"

#include <filesystem>
#include <system_error>

#include "config/environment.h"

namespace weir::app {
namespace {

std::string this_program() {
    std::error_code ignored;
    return std::filesystem::read_symlink("/proc/self/exe", ignored).string();
}

bool exists_here(const std::string& path) {
    std::error_code missing;
    return std::filesystem::exists(path, missing);
}

}  // namespace

std::vector<std::string> config_candidates(std::string_view program) {
    std::vector<std::string> candidates{"conf/weir.conf"};
    const std::filesystem::path folder = std::filesystem::path(program).parent_path();
    if (folder.filename() == "bin") {
        candidates.push_back((folder.parent_path() / "etc/weir/weir.conf").string());
    }
    candidates.emplace_back("/etc/weir/weir.conf");
    return candidates;
}

std::string find_config(const std::vector<std::string>& candidates,
                        const std::function<bool(const std::string&)>& exists) {
    for (const std::string& path : candidates) {
        if (exists(path)) {
            return path;
        }
    }
    return candidates.front();
}

std::string default_config(const config::Environment& environment) {
    for (const auto& [name, value] : environment) {
        if (name == config::kConfigFileVariable && !value.empty()) {
            return value;
        }
    }
    return find_config(config_candidates(this_program()), &exists_here);
}

std::string find_pages(const std::string& configured,
                       std::string_view program,
                       const std::function<bool(const std::string&)>& exists) {
    const std::filesystem::path folder = std::filesystem::path(program).parent_path();
    if (!exists(configured) && folder.filename() == "bin") {
        std::string installed = (folder.parent_path() / "share/weir/www").string();
        if (exists(installed)) {
            return installed;
        }
    }
    return configured;
}

std::string pages_folder(const std::string& configured) {
    return find_pages(configured, this_program(), &exists_here);
}

}  // namespace weir::app
