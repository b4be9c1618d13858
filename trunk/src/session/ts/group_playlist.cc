#include "session/ts/group_playlist.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace weir::session {
namespace {

constexpr std::string_view kGuideNames[] = {"x-tvg-url", "url-tvg"};

// What stands behind "SCHEME://"; nothing where it is another scheme.
std::optional<std::string_view> behind_scheme(std::string_view address, std::string_view scheme) {
    const size_t size = scheme.size() + 3;
    if (!equals_ignore_case(address.substr(0, scheme.size()), scheme) ||
        address.substr(scheme.size(), 3) != "://") {
        return std::nullopt;
    }
    return address.substr(size);
}

std::string joined(std::string_view one, std::string_view other) {
    const bool both = !one.empty() && !other.empty();
    return std::string(one) + (both ? "&" : "") + std::string(other);
}

std::string with_query(std::string url, std::string_view query) {
    if (!query.empty()) {
        url += url.find('?') == std::string::npos ? '?' : '&';
        url += query;
    }
    return url;
}

std::string url_of(const GroupLink& link, const PlaylistLinks& links) {
    return with_query(links.base + (link.rtp ? "/rtp/" : "/udp/") + link.group.to_string(),
                      joined(link.query, links.query));
}

}  // namespace

std::optional<GroupLink> GroupLink::parse(std::string_view address) {
    const Halves halves = split_once(address.substr(0, address.find('#')), '?');
    GroupLink link;
    link.query = halves.after;
    std::string_view text;
    if (const auto udp = behind_scheme(halves.before, "udp")) {
        text = *udp;
    } else if (const auto rtp = behind_scheme(halves.before, "rtp")) {
        link.rtp = true;
        text = *rtp;
    } else {
        auto gateway = behind_scheme(halves.before, "http");
        gateway = gateway ? gateway : behind_scheme(halves.before, "https");
        const std::string_view path = gateway.value_or("");
        const size_t as_udp = path.find("/udp/");
        const size_t as_rtp = path.find("/rtp/");
        const size_t at = std::min(as_udp, as_rtp);
        if (at == std::string_view::npos) {
            return std::nullopt;
        }
        link.rtp = as_rtp < as_udp;
        text = path.substr(at + 5);
    }
    auto group = net::GroupAddress::parse(text);
    if (!group.ok() || !group->is_group()) {
        return std::nullopt;
    }
    link.group = std::move(group).value();
    link.group.interface.clear();
    // The port of its FEC is a part of the address.
    std::string rest;
    for (const std::string_view item : split(link.query, '&')) {
        const Halves option = split_once(item, '=');
        if (option.before == "fec") {
            link.group.fec_port =
                static_cast<uint16_t>(parse_uint(option.after, 1, UINT16_MAX).value_or(0));
        } else if (!item.empty()) {
            rest += (rest.empty() ? "" : "&") + std::string(item);
        }
    }
    link.query = std::move(rest);
    return link;
}

Result<GroupPlaylist> GroupPlaylist::parse(std::string_view text) {
    GroupPlaylist out;
    WEIR_TRY_ASSIGN(out.playlist_, m3u::Playlist::parse(text));
    // Titles first: another channel's id does not take the name that people see.
    for (const std::string_view by : {"", "tvg-name", "tvg-id"}) {
        for (const m3u::Channel& channel : out.playlist_.channels) {
            const std::string_view name = by.empty() ? channel.info.title : channel.info.get(by);
            const auto link = GroupLink::parse(channel.address);
            if (link && !name.empty()) {
                out.by_name_.try_emplace(std::string(name), link->group);
            }
            out.groups_ += link && by.empty() ? 1U : 0U;
        }
    }
    return out;
}

std::string GroupPlaylist::write(const PlaylistLinks& links) const {
    m3u::Playlist out = playlist_;
    if (out.header.empty()) {
        out.header = "#EXTM3U";
    }
    if (links.guide) {
        const std::string guide = with_query(links.base + "/epg.xml", links.query);
        out.header = m3u::with_attribute(out.header, kGuideNames[0], guide);
        if (!playlist_.header_info.get(kGuideNames[1]).empty()) {
            out.header = m3u::with_attribute(out.header, kGuideNames[1], guide);
        }
    }
    for (m3u::Channel& channel : out.channels) {
        if (const auto link = GroupLink::parse(channel.address)) {
            channel.address = url_of(*link, links);
        }
    }
    return out.write();
}

const net::GroupAddress* GroupPlaylist::find(std::string_view name) const {
    const auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? nullptr : &found->second;
}

std::string_view GroupPlaylist::guide_url() const {
    for (const std::string_view name : kGuideNames) {
        const std::string_view value = playlist_.header_info.get(name);
        if (!value.empty()) {
            return trim(value.substr(0, value.find(',')));
        }
    }
    return {};
}

}  // namespace weir::session
