// Names of hosts as certificates and clients write them: which certificate answers for a name.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

// How well a name of a certificate ("example.net", "*.example.net", "192.0.2.1") covers a host.
// Letters of either case, a dot at the end of the host is no part of it. A wildcard stands for one
// whole label at the left (RFC 6125 §6.4.3).
enum class HostMatch { kNone, kWildcard, kExact };

HostMatch match_host(std::string_view name, std::string_view host);

// The index of the set of names that covers the host best, the first of equals; 0 when none does.
// `names_of(i)` gives the names of the set i.
template <typename NamesOf>
size_t choose_by_host(size_t count, std::string_view host, NamesOf&& names_of) {
    size_t chosen = 0;
    HostMatch best = HostMatch::kNone;
    for (size_t i = 0; i < count && best != HostMatch::kExact; i++) {
        for (const std::string& name : names_of(i)) {
            const HostMatch match = match_host(name, host);
            if (match > best) {
                best = match;
                chosen = i;
            }
        }
    }
    return chosen;
}

}  // namespace weir
