// Which configuration is meant when none is named.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace weir::app {

// In order: conf/weir.conf of the working folder, then what `make install` puts beside the program
// (PREFIX/etc/weir/weir.conf for PREFIX/bin/weir), then /etc/weir/weir.conf. `program`: its path.
std::vector<std::string> config_candidates(std::string_view program);

// The first that exists; when none does, the first, whose error then names it.
std::string find_config(const std::vector<std::string>& candidates,
                        const std::function<bool(const std::string&)>& exists);

// Of this process: what WEIR_CONFIG_FILE of its environment names, else the first that exists.
std::string default_config(const config::Environment& environment);

// The folder of the pages: `configured`, or where that does not exist the one that `make install`
// puts beside the program (PREFIX/share/weir/www for PREFIX/bin/weir), if there is one.
std::string find_pages(const std::string& configured,
                       std::string_view program,
                       const std::function<bool(const std::string&)>& exists);

// For this process.
std::string pages_folder(const std::string& configured);

}  // namespace weir::app
