// GroupPlaylist: a provider's playlist of multicast groups, rewritten to this server. Addresses of
// groups (udp://, rtp://, and those of another gateway, http://HOST/udp/GROUP:PORT) become
// addresses here; every other line stays as it is. And the groups by the names of their channels.
// Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "net/ts/group_address.h"
#include "proto/m3u/playlist.h"

namespace weir::session {

// An address of a playlist that means a group.
struct GroupLink {
    net::GroupAddress group;  // without interface: that is of the machine that wrote it
    bool rtp = false;
    std::string query;  // what stood behind '?'; empty: nothing

    // Nothing when it means something else.
    static std::optional<GroupLink> parse(std::string_view address);

    bool operator==(const GroupLink&) const = default;
};

// Where a client finds this server.
struct PlaylistLinks {
    std::string base;    // "https://tv.example.org:8443", without a slash at the end
    std::string query;   // what the client was let in with ("key=abc"), for each address; or empty
    bool guide = false;  // this server has the guide, at /epg.xml
};

class GroupPlaylist {
  public:
    // The errors of m3u::Playlist::parse().
    static Result<GroupPlaylist> parse(std::string_view text);

    // The playlist for a client.
    std::string write(const PlaylistLinks& links) const;

    // The group of a channel by its title, or its tvg-name or tvg-id; of several of a name, the
    // first. Null: there is none. Valid as long as this.
    const net::GroupAddress* find(std::string_view name) const;

    // Where the playlist says that its guide is (x-tvg-url, url-tvg; the first of several). Empty:
    // it does not.
    std::string_view guide_url() const;

    size_t channels() const { return playlist_.channels.size(); }

    // Channels that are groups.
    size_t groups() const { return groups_; }

  private:
    m3u::Playlist playlist_;
    size_t groups_ = 0;
    std::unordered_map<std::string, net::GroupAddress> by_name_;
};

}  // namespace weir::session
