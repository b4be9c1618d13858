#include "net/ts/group_address.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::net {
namespace {

constexpr uint8_t kFirstGroup = 224;
constexpr uint8_t kLastGroup = 239;
constexpr size_t kMaxOptionName = 32;  // that an error shows

Error expected(std::string_view what) {
    return make_error(ErrorCode::kMalformed, "{}; expected [SRC@]GROUP:PORT[@IF]", what);
}

std::optional<NetAddress> parse_source(std::string_view text) {
    if (text.starts_with('[') && text.ends_with(']')) {
        text = text.substr(1, text.size() - 2);
    }
    return NetAddress::parse_ip(text, 0);
}

bool is_interface(std::string_view text) {
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '-' || c == '_' || c == ':';
    };
    const bool is_name = text.size() <= GroupAddress::kMaxInterfaceName;
    return !text.empty() && std::ranges::all_of(text, plain) &&
           (is_name || NetAddress::parse_ip(text, 0));
}

// Names of options are shown, since no secret is one; values are not.
Error refuse_option(std::string_view name) {
    const bool plain =
        std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
    if (name.empty() || name.size() > kMaxOptionName || !plain) {
        return expected("a group has the options fec and ttl only");
    }
    return expected(fmt::format("the option ?{} is not supported", name));
}

Error take_option(std::string_view option, GroupAddress& address) {
    const Halves halves = split_once(option, '=');
    if (halves.before == "fec") {
        const std::optional<uint64_t> port = parse_uint(halves.after, 1, UINT16_MAX);
        address.fec_port = static_cast<uint16_t>(port.value_or(0));
        return port ? Error() : expected("?fec= takes a port");
    }
    if (halves.before == "ttl") {
        const std::optional<uint64_t> ttl = parse_uint(halves.after, 1, UINT8_MAX);
        address.ttl = static_cast<uint8_t>(ttl.value_or(0));
        return ttl ? Error() : expected("?ttl= takes a number from 1 to 255");
    }
    return refuse_option(halves.before);
}

Error check(const GroupAddress& address) {
    if (address.to.port() == 0) {
        return expected("port 0 is none");
    }
    if (!address.source.empty() && (address.source.is_v4() != address.to.is_v4() ||
                                    is_multicast(address.source) || address.source.is_any())) {
        return expected("the address in front of @ is none that sends to this group");
    }
    if (!address.interface.empty() && !address.is_group()) {
        return expected("an interface is for groups only (224.0.0.0 to 239.255.255.255, ff00::/8)");
    }
    return {};
}

}  // namespace

bool is_multicast(const NetAddress& address) {
    return address.is_v4() ? address.v4()[0] >= kFirstGroup && address.v4()[0] <= kLastGroup
                           : address.v6()[0] == 0xFF;
}

bool is_rtp_group(std::string_view app, std::string_view name) {
    if (app != kRtpGroupApp) {
        return false;
    }
    const Result<GroupAddress> address = GroupAddress::parse(name);
    return address.ok() && address->is_group();
}

bool GroupAddress::is_group() const {
    return is_multicast(to);
}

Result<GroupAddress> GroupAddress::parse(std::string_view text) {
    GroupAddress address;
    if (const size_t mark = text.find('?'); mark != std::string_view::npos) {
        for (const std::string_view option : split(text.substr(mark + 1), '&')) {
            WEIR_TRY(take_option(option, address));
        }
        text = text.substr(0, mark);
    }
    if (text.ends_with('/')) {
        text.remove_suffix(1);
    }
    std::vector<std::string_view> parts = split(text, '@');
    if (parts.size() > 3) {
        return expected("there are too many @");
    }
    // Of two parts with an @ between them the group is the one with a port.
    if (parts.size() == 3 || (parts.size() == 2 && !NetAddress::parse(parts[0]))) {
        if (!parts[0].empty()) {
            const std::optional<NetAddress> source = parse_source(parts[0]);
            if (!source) {
                return expected("the sender is no numeric address");
            }
            address.source = *source;
        }
        parts.erase(parts.begin());
    }
    const std::optional<NetAddress> to = NetAddress::parse(parts[0]);
    if (!to) {
        return expected(
            "the group is no numeric address with a port (239.1.1.1:5000, [ff15::1]:5000)");
    }
    address.to = *to;
    if (parts.size() == 2) {
        if (!is_interface(parts[1])) {
            return expected("the interface is neither a name nor an address");
        }
        address.interface = parts[1];
    }
    if (Error wrong = check(address)) {
        return wrong;
    }
    return address;
}

std::string GroupAddress::to_string() const {
    const bool brackets = !source.empty() && !source.is_v4();
    std::string text =
        fmt::format("{}{}{}{}{}{}{}", brackets ? "[" : "", source.empty() ? "" : source.ip_text(),
                    brackets ? "]" : "", source.empty() ? "" : "@", to.to_string(),
                    interface.empty() ? "" : "@", interface);
    if (fec_port != 0) {
        text += fmt::format("?fec={}", fec_port);
    }
    if (ttl != 0) {
        text += fmt::format("{}ttl={}", fec_port != 0 ? "&" : "?", ttl);
    }
    return text;
}

}  // namespace weir::net
