#include "proto/sip/via.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "proto/sip/name_addr.h"
#include "proto/sip/uri.h"

namespace weir::sip {

// Blanks may stand around each '/' and ':' (RFC 4475 §3.1.1.1).
std::optional<Via> Via::parse(std::string_view text) {
    const Halves protocol = split_once(text, '/');
    const Halves version = split_once(protocol.after, '/');
    const std::string_view rest = http::trimmed(version.after);
    const size_t blank = rest.find_first_of(" \t");
    if (!equals_ignore_case(http::trimmed(protocol.before), "SIP") ||
        http::trimmed(version.before) != "2.0" || blank == std::string_view::npos) {
        return std::nullopt;
    }
    Via out;
    out.transport = rest.substr(0, blank);
    const std::string_view behind = rest.substr(blank);
    const size_t end = std::min(behind.find(';'), behind.size());
    const std::string_view place = behind.substr(0, end);
    const size_t colon = std::min(place.rfind(':'), place.size());
    // The colons of an IPv6 address have no blanks around them.
    std::string joined(http::trimmed(place.substr(0, colon)));
    joined += colon < place.size() ? ":" : "";
    joined += http::trimmed(place.substr(std::min(colon + 1, place.size())));
    std::optional<HostPort> sent_by = parse_host_port(joined);
    std::optional<Parameters> parameters = Parameters::parse_of_header(behind.substr(end));
    if (!std::ranges::all_of(out.transport, http::is_token_character) || !sent_by || !parameters) {
        return std::nullopt;
    }
    out.host = std::move(sent_by->host);
    out.port = sent_by->port;
    out.parameters = std::move(*parameters);
    return out;
}

std::optional<std::vector<Via>> Via::parse_all(const http::Fields& fields) {
    std::vector<Via> out;
    for (const http::Field& field : fields) {
        if (!http::equal_ignoring_case(field.name, "Via")) {
            continue;
        }
        const std::optional<std::vector<std::string_view>> items = split_list(field.value);
        if (!items) {
            return std::nullopt;
        }
        for (const std::string_view item : *items) {
            std::optional<Via> via = parse(item);
            if (!via || out.size() == kMaxVias) {
                return std::nullopt;
            }
            out.push_back(std::move(*via));
        }
    }
    return out;
}

std::string Via::write() const {
    std::string out = fmt::format("SIP/2.0/{} {}", transport, host);
    if (port != 0) {
        out += fmt::format(":{}", port);
    }
    return out + parameters.write_for_header();
}

bool Via::has_unique_branch() const {
    const std::string_view id = branch();
    return id.size() > kBranchMagic.size() &&
           equals_ignore_case(id.substr(0, kBranchMagic.size()), kBranchMagic);
}

http::Fields with_top_via(const http::Fields& fields, const Via& top) {
    http::Fields out;
    bool replaced = false;
    for (const http::Field& field : fields) {
        if (replaced || !http::equal_ignoring_case(field.name, "Via")) {
            out.add(field.name, field.value);
            continue;
        }
        const std::optional<std::vector<std::string_view>> items = split_list(field.value);
        if (!items || items->empty()) {
            out.add(field.name, field.value);
            continue;
        }
        std::string value = top.write();
        for (size_t i = 1; i < items->size(); i++) {
            value += ", ";
            value += (*items)[i];
        }
        out.add(field.name, std::move(value));
        replaced = true;
    }
    return out;
}

}  // namespace weir::sip
