// Which section of a configuration holds for a name.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "config/config.h"

namespace weir::config {
namespace {

// "vip" leads "vip" and "vip/room", not "vipers".
bool leads(std::string_view name, std::string_view app) {
    return app.size() >= name.size() && equals_ignore_case(app.substr(0, name.size()), name) &&
           (app.size() == name.size() || app[name.size()] == '/');
}

}  // namespace

std::vector<uint16_t> CoreSet::numbers() const {
    std::set<uint16_t> unique;
    for (const CoreRange& range : ranges) {
        for (uint32_t core = range.first; core <= range.last; core++) {
            unique.insert(static_cast<uint16_t>(core));
        }
    }
    return {unique.begin(), unique.end()};
}

const VhostConfig* Config::find_vhost(std::string_view name) const {
    const VhostConfig* found = nullptr;
    for (const VhostConfig& vhost : vhosts) {
        if (vhost.name != kDefaultVhost && equals_ignore_case(vhost.name, name)) {
            found = &vhost;
            break;
        }
        if (vhost.name == kDefaultVhost) {
            found = &vhost;
        }
    }
    return found != nullptr && found->enabled ? found : nullptr;
}

const VhostConfig* Config::find_settings(std::string_view vhost, std::string_view app) const {
    const VhostConfig* found = find_vhost(vhost);
    return found != nullptr ? found->settings_of(app) : nullptr;
}

std::string VhostConfig::section() const {
    return application.empty() ? name : fmt::format("{}/{}", name, application);
}

std::string VhostConfig::title() const {
    return application.empty() ? fmt::format("vhost {}", name)
                               : fmt::format("application {} of vhost {}", application, name);
}

const VhostConfig* VhostConfig::application_of(std::string_view app) const {
    const VhostConfig* found = nullptr;
    for (const VhostConfig& each : applications) {
        if (!leads(each.application, app)) {
            continue;
        }
        const bool longer = found == nullptr || each.application.size() > found->application.size();
        const bool as_long =
            found != nullptr && each.application.size() == found->application.size();
        if (longer || (as_long && each.has_spelling_of(app))) {
            found = &each;
        }
    }
    return found;
}

bool VhostConfig::has_spelling_of(std::string_view app) const {
    return app.starts_with(application);
}

const VhostConfig* VhostConfig::settings_of(std::string_view app) const {
    const VhostConfig* found = application_of(app);
    if (found == nullptr) {
        return this;
    }
    return found->enabled && found->has_spelling_of(app) ? found : nullptr;
}

}  // namespace weir::config
