// Playlists of channels as IPTV knows them (M3U with #EXTINF attributes). Pure.
//
//     #EXTM3U x-tvg-url="http://guide/epg.xml"
//     #EXTINF:-1 tvg-id="one" group-title="News",One, the first
//     #EXTVLCOPT:network-caching=100
//     udp://@239.1.1.1:5000
//
// There is no standard, so everything is kept as it stands, in its order: only what is asked for is
// taken apart. Lines may end in CR LF, a byte order mark may stand in front, blank lines are left
// out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace weir::m3u {

inline constexpr size_t kMaxBytes = 8 * 1024 * 1024;
inline constexpr size_t kMaxChannels = 20'000;
inline constexpr size_t kMaxLine = 8 * 1024;
inline constexpr size_t kMaxLinesOfChannel = 64;
inline constexpr size_t kMaxAttributes = 64;  // of a line; more are not found by name

// name="value"; also without quotes, up to a space or comma.
struct Attribute {
    std::string name;  // as written
    std::string value;

    bool operator==(const Attribute&) const = default;
};

// What stands in #EXTINF:DURATION ATTRIBUTES,TITLE or #EXTM3U ATTRIBUTES.
struct Info {
    std::vector<Attribute> attributes;
    std::string title;  // behind the first comma outside of quotes, without spaces at its ends

    // Of the whole line.
    static Info parse(std::string_view line);

    // The value of the attribute; names know no upper and lower case. Empty when it is not there.
    std::string_view get(std::string_view name) const;

    bool operator==(const Info&) const = default;
};

struct Channel {
    std::vector<std::string> lines;  // before the address, as they are
    std::string address;
    Info info;          // of its #EXTINF; empty: it has none
    std::string group;  // group-title, or else of #EXTGRP

    bool operator==(const Channel&) const = default;
};

struct Playlist {
    std::string header;  // the line #EXTM3U; empty: there is none
    Info header_info;
    std::vector<Channel> channels;
    std::vector<std::string> rest;  // lines behind the last address

    // kLimit: more of it than the constants above. kMalformed: this is no text (a zero byte), or no
    // playlist (HTML and XML have their '<' in front).
    static Result<Playlist> parse(std::string_view text);

    std::string write() const;

    bool operator==(const Playlist&) const = default;
};

// The line with another value of an attribute, which is put in front of the others if it is not
// there. Quotes in the value are left out.
std::string with_attribute(std::string_view line, std::string_view name, std::string_view value);

}  // namespace weir::m3u
