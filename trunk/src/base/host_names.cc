#include "base/host_names.h"

#include "base/strings.h"

namespace weir {

HostMatch match_host(std::string_view name, std::string_view host) {
    if (host.ends_with('.')) {
        host.remove_suffix(1);
    }
    if (host.empty()) {
        return HostMatch::kNone;
    }
    if (equals_ignore_case(name, host)) {
        return HostMatch::kExact;
    }
    constexpr std::string_view kStar = "*.";
    const size_t dot = host.find('.');
    if (!name.starts_with(kStar) || dot == 0 || dot == std::string_view::npos) {
        return HostMatch::kNone;
    }
    name.remove_prefix(1);  // ".example.net"
    // "*.net" would cover whole countries: a wildcard needs two labels behind it.
    const bool deep = name.find('.', 1) != std::string_view::npos;
    return deep && equals_ignore_case(name, host.substr(dot)) ? HostMatch::kWildcard
                                                              : HostMatch::kNone;
}

}  // namespace weir
