#include "proto/rtsp/transport.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::rtsp {
namespace {

struct Profile {
    std::string_view name;
    bool secure;
    bool tcp;
};

// AVPF and SAVPF (RFC 4585, RFC 5124) only allow feedback to be sent earlier.
constexpr std::array kProfiles = {
    Profile{"RTP/AVP", false, false},      Profile{"RTP/AVP/UDP", false, false},
    Profile{"RTP/AVP/TCP", false, true},   Profile{"RTP/SAVP", true, false},
    Profile{"RTP/SAVP/UDP", true, false},  Profile{"RTP/SAVP/TCP", true, true},
    Profile{"RTP/AVPF", false, false},     Profile{"RTP/AVPF/UDP", false, false},
    Profile{"RTP/AVPF/TCP", false, true},  Profile{"RTP/SAVPF", true, false},
    Profile{"RTP/SAVPF/UDP", true, false}, Profile{"RTP/SAVPF/TCP", true, true},
};

// The text up to the next separator that does not stand in quotes; takes it off.
std::string_view take_part(std::string_view& text, char separator) {
    bool quoted = false;
    size_t end = 0;
    while (end < text.size() && (quoted || text[end] != separator)) {
        quoted ^= text[end] == '"';
        end++;
    }
    const std::string_view part = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return part;
}

std::string_view without_quotes(std::string_view text) {
    if (text.size() >= 2 && text.starts_with('"') && text.ends_with('"')) {
        return text.substr(1, text.size() - 2);
    }
    return text;
}

// "5000-5001" or "5000", both at most `max`.
template <class Pair>
std::optional<Pair> parse_pair(std::string_view text, uint16_t max) {
    const Halves halves = split_once(text, '-');
    const std::optional<uint64_t> first = parse_uint(trim(halves.before), 0, max);
    const std::optional<uint64_t> second =
        halves.found ? parse_uint(trim(halves.after), 0, max)
                     : std::optional(std::min<uint64_t>(first.value_or(0) + 1, max));
    if (!first || !second) {
        return std::nullopt;
    }
    using Number = decltype(Pair::rtp);
    return Pair{static_cast<Number>(*first), static_cast<Number>(*second)};
}

// False: no numbers. Port 0 stands for "none": some cameras answer server_port=0-0 over TCP.
bool take_ports(std::string_view text, std::optional<PortPair>& out) {
    const auto pair = parse_pair<PortPair>(text, UINT16_MAX);
    if (pair && pair->rtp != 0) {
        out = pair;
    }
    return pair.has_value();
}

// Up to eight hex digits. Cameras write decimal numbers, signs or several sources: without a number
// that can be trusted, the first packet tells the SSRC.
std::optional<uint32_t> parse_ssrc(std::string_view text) {
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    return error == std::errc() && end == text.data() + text.size() && text.size() <= 8
               ? std::optional(value)
               : std::nullopt;
}

// RECORD and "receive", which RFC 2326 drafts and QuickTime's clients say for the same.
bool asks_to_record(std::string_view text) {
    std::string_view rest = without_quotes(text);
    while (!rest.empty()) {
        const std::string_view mode = without_quotes(take_part(rest, ','));
        if (equals_ignore_case(mode, "record") || equals_ignore_case(mode, "receive")) {
            return true;
        }
    }
    return false;
}

bool is_host(std::string_view text) {
    return !text.empty() && text.size() <= kMaxTransportHost &&
           std::ranges::all_of(text, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      std::string_view(".-_:[]%").find(c) != std::string_view::npos;
           });
}

// False: the alternative cannot be used.
bool take_parameter(std::string_view name, std::string_view value, Transport& out) {
    const auto is = [&](std::string_view other) { return equals_ignore_case(name, other); };
    if (is("unicast") || is("multicast")) {
        out.multicast = is("multicast");
    } else if (is("client_port")) {
        return take_ports(value, out.client_port);
    } else if (is("server_port")) {
        (void)take_ports(value, out.server_port);  // the first packet tells it, too
    } else if (is("port")) {
        return take_ports(value, out.port);
    } else if (is("interleaved")) {
        out.interleaved = parse_pair<ChannelPair>(value, UINT8_MAX);
        return out.interleaved.has_value();
    } else if (is("ttl")) {
        if (const std::optional<uint64_t> ttl = parse_uint(value, 0, UINT8_MAX)) {
            out.ttl = static_cast<uint8_t>(*ttl);
        }
    } else if (is("ssrc")) {
        out.ssrc = parse_ssrc(value);
    } else if (is("mode")) {
        out.record = asks_to_record(value);
    } else if ((is("destination") || is("source")) && is_host(without_quotes(value))) {
        (is("source") ? out.source : out.destination) = without_quotes(value);
    }
    return true;
}

std::optional<Transport> parse_one(std::string_view text) {
    const std::string_view name = take_part(text, ';');
    const auto* const profile = std::ranges::find_if(
        kProfiles, [&](const Profile& each) { return equals_ignore_case(each.name, name); });
    if (profile == kProfiles.end()) {
        return std::nullopt;
    }
    Transport out;
    out.secure = profile->secure;
    out.tcp = profile->tcp;
    while (!text.empty()) {
        const Halves halves = split_once(take_part(text, ';'), '=');
        if (!take_parameter(trim(halves.before), trim(halves.after), out)) {
            return std::nullopt;
        }
    }
    return out;
}

void append_ports(std::string& out, std::string_view name, const std::optional<PortPair>& ports) {
    if (ports) {
        out += fmt::format(";{}={}-{}", name, ports->rtp, ports->rtcp);
    }
}

}  // namespace

std::vector<Transport> parse_transports(std::string_view value) {
    std::vector<Transport> out;
    if (value.size() > kMaxTransportText) {
        return out;
    }
    for (size_t i = 0; i < kMaxTransports && !value.empty(); i++) {
        if (std::optional<Transport> one = parse_one(take_part(value, ','))) {
            out.push_back(std::move(*one));
        }
    }
    return out;
}

std::string write(const Transport& transport) {
    std::string out = transport.secure ? "RTP/SAVP" : "RTP/AVP";
    out += transport.tcp ? "/TCP" : "";
    out += transport.multicast ? ";multicast" : ";unicast";
    if (is_host(transport.destination)) {
        out += ";destination=" + transport.destination;
    }
    if (is_host(transport.source)) {
        out += ";source=" + transport.source;
    }
    append_ports(out, "port", transport.port);
    append_ports(out, "client_port", transport.client_port);
    append_ports(out, "server_port", transport.server_port);
    if (transport.interleaved) {
        out += fmt::format(";interleaved={}-{}", transport.interleaved->rtp,
                           transport.interleaved->rtcp);
    }
    if (transport.ttl) {
        out += fmt::format(";ttl={}", *transport.ttl);
    }
    if (transport.ssrc) {
        out += fmt::format(";ssrc={:08X}", *transport.ssrc);
    }
    out += transport.record ? ";mode=record" : "";
    return out;
}

std::string write(const std::vector<Transport>& transports) {
    std::string out;
    for (const Transport& transport : transports) {
        out += out.empty() ? "" : ",";
        out += write(transport);
    }
    return out;
}

}  // namespace weir::rtsp
