#include "proto/m3u/playlist.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/strings.h"

namespace weir::m3u {
namespace {

constexpr std::string_view kHeader = "#EXTM3U";
constexpr std::string_view kInfo = "#EXTINF:";
constexpr std::string_view kGroup = "#EXTGRP:";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool starts_with_ignore_case(std::string_view text, std::string_view start) {
    return equals_ignore_case(text.substr(0, start.size()), start);
}

bool is_space(char c) {
    return c == ' ' || c == '\t';
}

// An attribute as it stands in a line.
struct Place {
    size_t name = 0;
    size_t name_end = 0;
    size_t value = 0;  // without the quote
    size_t value_end = 0;
    size_t end = 0;  // behind the quote
};

// Walks over the attributes of a line.
class Walk {
  public:
    explicit Walk(std::string_view line) : line_(line) {
        const bool is_info = starts_with_ignore_case(line, kInfo);
        at_ = std::min(is_info ? kInfo.size() : kHeader.size(), line.size());
        while (is_info && at_ < line.size() && !is_space(line[at_]) && line[at_] != ',') {
            at_++;  // the duration
        }
    }

    // The next attribute; nothing at the comma before the title, or at the end.
    std::optional<Place> next() {
        for (;;) {
            while (at_ < line_.size() && is_space(line_[at_])) {
                at_++;
            }
            if (at_ == line_.size() || line_[at_] == ',') {
                return std::nullopt;
            }
            Place place{.name = at_};
            while (at_ < line_.size() && !is_space(line_[at_]) && line_[at_] != '=' &&
                   line_[at_] != ',') {
                at_++;
            }
            place.name_end = at_;
            if (at_ < line_.size() && line_[at_] == '=') {
                at_++;
                take_value(place);
                return place;
            }
        }
    }

    // Where the attributes begin, before the first next().
    size_t at() const { return at_; }

    // Behind next()'s nothing: where the title begins; npos: there is none.
    size_t title() const { return at_ < line_.size() ? at_ + 1 : std::string_view::npos; }

  private:
    void take_value(Place& place) {
        if (at_ < line_.size() && line_[at_] == '"') {
            place.value = at_ + 1;
            const size_t quote = line_.find('"', place.value);
            if (quote != std::string_view::npos) {
                place.value_end = quote;
                at_ = place.end = quote + 1;
                return;
            }
        }
        // Without an end of its quotes it is what a space or comma ends.
        place.value = at_;
        while (at_ < line_.size() && !is_space(line_[at_]) && line_[at_] != ',') {
            at_++;
        }
        place.value_end = place.end = at_;
    }

    std::string_view line_;
    size_t at_ = 0;
};

Error limit(std::string_view what, size_t most) {
    return make_error(ErrorCode::kLimit, "a playlist with more than {} {}", most, what);
}

void describe(Channel& channel) {
    for (const std::string& line : channel.lines) {
        if (starts_with_ignore_case(line, kInfo)) {
            channel.info = Info::parse(line);
            const std::string_view group = channel.info.get("group-title");
            channel.group = group.empty() ? channel.group : std::string(group);
        } else if (starts_with_ignore_case(line, kGroup) &&
                   channel.info.get("group-title").empty()) {
            channel.group = trim(std::string_view(line).substr(kGroup.size()));
        }
    }
}

}  // namespace

Info Info::parse(std::string_view line) {
    Info info;
    Walk walk(line);
    while (const auto place = walk.next()) {
        if (info.attributes.size() < kMaxAttributes) {
            info.attributes.push_back(
                {std::string(line.substr(place->name, place->name_end - place->name)),
                 std::string(line.substr(place->value, place->value_end - place->value))});
        }
    }
    if (walk.title() != std::string_view::npos) {
        info.title = trim(line.substr(walk.title()));
    }
    return info;
}

std::string_view Info::get(std::string_view name) const {
    const auto found = std::ranges::find_if(
        attributes, [&](const Attribute& each) { return equals_ignore_case(each.name, name); });
    return found == attributes.end() ? std::string_view() : found->value;
}

Result<Playlist> Playlist::parse(std::string_view text) {
    for (text = trim(text); text.starts_with(kByteOrderMark); text = trim(text)) {
        text.remove_prefix(kByteOrderMark.size());
    }
    if (text.size() > kMaxBytes) {
        return limit("bytes", kMaxBytes);
    }
    if (text.find('\0') != std::string_view::npos || text.starts_with('<')) {
        return make_error(ErrorCode::kMalformed, "this is no playlist; expected #EXTM3U");
    }
    Playlist out;
    Channel channel;
    while (!text.empty()) {
        const Halves halves = split_once(text, '\n');
        text = halves.after;
        const std::string_view line = trim(halves.before);
        if (line.size() > kMaxLine) {
            return limit("bytes in a line", kMaxLine);
        }
        if (line.empty()) {
            continue;
        }
        if (out.header.empty() && out.channels.empty() && channel.lines.empty() &&
            starts_with_ignore_case(line, kHeader)) {
            out.header = line;
            out.header_info = Info::parse(line);
        } else if (line.starts_with('#')) {
            if (channel.lines.size() == kMaxLinesOfChannel) {
                return limit("lines of a channel", kMaxLinesOfChannel);
            }
            channel.lines.emplace_back(line);
        } else {
            if (out.channels.size() == kMaxChannels) {
                return limit("channels", kMaxChannels);
            }
            channel.address = line;
            describe(channel);
            out.channels.push_back(std::move(channel));
            channel = Channel();
        }
    }
    out.rest = std::move(channel.lines);
    return out;
}

std::string Playlist::write() const {
    std::string out;
    auto add = [&out](std::string_view line) {
        out += line;
        out += '\n';
    };
    if (!header.empty()) {
        add(header);
    }
    for (const Channel& channel : channels) {
        for (const std::string& line : channel.lines) {
            add(line);
        }
        add(channel.address);
    }
    for (const std::string& line : rest) {
        add(line);
    }
    return out;
}

namespace {

std::string put_attribute(std::string_view line, std::string_view name, std::string_view quoted) {
    Walk walk(line);
    // In front of the others: quotes that are open there must not reach it.
    const size_t begin = walk.at();
    while (const auto place = walk.next()) {
        if (equals_ignore_case(line.substr(place->name, place->name_end - place->name), name)) {
            return std::string(line.substr(0, place->name_end + 1)) + std::string(quoted) +
                   std::string(line.substr(place->end));
        }
    }
    return std::string(line.substr(0, begin)) + ' ' + std::string(name) + '=' +
           std::string(quoted) + std::string(line.substr(begin));
}

}  // namespace

// A line that is broken so that the attribute could not be read in it is given up.
std::string with_attribute(std::string_view line, std::string_view name, std::string_view value) {
    std::string plain;
    std::ranges::copy_if(value, std::back_inserter(plain), [](char c) { return c != '"'; });
    const std::string quoted = '"' + plain + '"';
    std::string changed = put_attribute(line, name, quoted);
    if (Info::parse(changed).get(name) == plain) {
        return changed;
    }
    return "#EXTM3U " + std::string(name) + '=' + quoted;
}

}  // namespace weir::m3u
