#include "proto/srt/stream_id.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/strings.h"

namespace weir::srt {
namespace {

constexpr std::string_view kFlat = "#!::";
constexpr std::string_view kBraces = "#!:{";
constexpr std::string_view kBlackmagic = "bmd_";  // how its keys begin
constexpr std::string_view kBlackmagicApp = "live/";

std::string_view without_slashes(std::string_view path) {
    while (path.starts_with('/')) {
        path.remove_prefix(1);
    }
    while (path.ends_with('/')) {
        path.remove_suffix(1);
    }
    return path;
}

Error malformed(std::string_view what) {
    return make_error(ErrorCode::kMalformed,
                      "{}; expected #!::r=APP/STREAM,m=publish (or m=request), or APP/STREAM, or "
                      "publish:APP/STREAM",
                      what);
}

// False: not the name of a mode.
bool find_mode(std::string_view name, StreamMode& mode) {
    if (equals_ignore_case(name, "publish")) {
        mode = StreamMode::kPublish;
        return true;
    }
    for (const std::string_view each : {"request", "read", "play"}) {
        if (equals_ignore_case(name, each)) {
            mode = StreamMode::kRequest;
            return true;
        }
    }
    return false;
}

void set_resource(StreamId& id, std::string_view text) {
    const Halves halves = split_once(text, '?');
    id.resource = without_slashes(halves.before);
    id.query = halves.after;
}

Error take_mode(StreamId& id, std::string_view value) {
    if (equals_ignore_case(value, "bidirectional")) {
        return make_error(ErrorCode::kUnsupported, "m=bidirectional is not supported");
    }
    return find_mode(value, id.mode) ? Error() : malformed("the stream id has an unknown mode");
}

// As a part of a query, whose readers decode it.
void append_encoded(std::string_view text, std::string& out) {
    for (const char c : text) {
        switch (c) {
            case '%': out += "%25"; break;
            case '&': out += "%26"; break;
            case '#': out += "%23"; break;
            default: out += c;
        }
    }
}

// What the form of access control says besides StreamId's own.
struct OtherKeys {
    std::string query;
    bool blackmagic = false;

    void take(std::string_view name, std::string_view value) {
        query += query.empty() ? "" : "&";
        append_encoded(name, query);
        query += '=';
        append_encoded(value, query);
        blackmagic = blackmagic || name.starts_with(kBlackmagic);
    }
};

Error take_key(StreamId& id, OtherKeys& others, std::string_view name, std::string_view value) {
    if (name == "r") {
        set_resource(id, value);
    } else if (name == "m") {
        return take_mode(id, value);
    } else if (name == "h") {
        id.vhost = value;
    } else if (name == "u") {
        id.user = value;
    } else if (name == "s") {
        id.session = value;
    } else if (name == "key" || name == "token" || name == "password") {
        id.token = value;
    } else if (name == "t") {
        if (!equals_ignore_case(value, "stream") && !equals_ignore_case(value, "live")) {
            return make_error(ErrorCode::kUnsupported, "only t=stream is supported in a stream id");
        }
    } else {
        others.take(name, value);
    }
    return {};
}

// Pairs between commas; commas within braces belong to the value.
Error parse_pairs(std::string_view text, StreamId& id, OtherKeys& others) {
    size_t keys = 0;
    while (!text.empty()) {
        size_t end = 0;
        int depth = 0;
        for (; end < text.size() && (text[end] != ',' || depth > 0); end++) {
            depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
        }
        const Halves pair = split_once(text.substr(0, end), '=');
        text.remove_prefix(std::min(end + 1, text.size()));
        if (pair.before.empty() && pair.after.empty()) {
            continue;
        }
        if (++keys > kMaxStreamIdKeys) {
            return make_error(ErrorCode::kLimit, "the stream id has more than {} keys",
                              kMaxStreamIdKeys);
        }
        WEIR_TRY(take_key(id, others, pair.before, pair.after));
    }
    return {};
}

// Some encoders put the whole address into the host: "#!::h=live/cam,m=publish".
void take_host_for_resource(StreamId& id) {
    const size_t slash = id.vhost.find('/');
    if (id.resource.empty() && slash != std::string::npos) {
        const std::string both = std::move(id.vhost);
        id.vhost.clear();
        const std::string_view path = without_slashes(split_once(both, '?').before);
        if (std::ranges::count(path, '/') > 1) {
            id.vhost = path.substr(0, path.find('/'));
            set_resource(id, std::string_view(both).substr(both.find('/') + 1));
        } else {
            set_resource(id, both);
        }
    }
}

// Nothing names a resource: the user does, if it looks like one or the encoder puts it there.
void take_user_for_resource(StreamId& id, bool blackmagic) {
    if (id.resource.empty() && (blackmagic || id.user.find('/') != std::string::npos)) {
        const std::string user = std::exchange(id.user, {});
        set_resource(id, user);
    }
    if (blackmagic) {
        const bool no_app = !id.resource.empty() && id.resource.find('/') == std::string::npos;
        id.resource.insert(0, no_app ? kBlackmagicApp : "");
        id.mode = id.mode == StreamMode::kNone ? StreamMode::kPublish : id.mode;
    }
}

// "publish:live/cam:user:password": all but the resource may be missing.
void parse_plain(std::string_view text, StreamId& id) {
    const Halves first = split_once(text, ':');
    if (first.before.size() < text.size() && find_mode(first.before, id.mode)) {
        text = first.after;
    }
    const std::vector<std::string_view> parts = split(text, ':', 3);
    set_resource(id, parts.empty() ? std::string_view() : parts[0]);
    id.user = parts.size() > 1 ? parts[1] : std::string_view();
    id.token = parts.size() > 2 ? parts[2] : std::string_view();
}

bool is_text(std::string_view text) {
    return std::ranges::all_of(
        text, [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != '\x7f'; });
}

void append(std::string& out, std::string_view name, std::string_view value) {
    if (!value.empty()) {
        out += out.empty() ? "" : ",";
        out += name;
        out += '=';
        out += value;
    }
}

}  // namespace

Result<StreamId> StreamId::parse(std::string_view text) {
    if (text.size() > kMaxStreamId) {
        return make_error(ErrorCode::kLimit, "the stream id is longer than {} bytes", kMaxStreamId);
    }
    if (!is_text(text)) {
        return malformed("the stream id has control characters");
    }
    std::string decoded;
    if (text.starts_with("%23!")) {  // ffmpeg 5 sends it as it stands in its URL
        decoded = url_decode(text);
        text = decoded;
        if (!is_text(text)) {
            return malformed("the stream id has control characters");
        }
    }
    StreamId id;
    OtherKeys others;
    if (text.starts_with(kFlat)) {
        WEIR_TRY(parse_pairs(text.substr(kFlat.size()), id, others));
    } else if (text.starts_with(kBraces)) {
        if (!text.ends_with('}')) {
            return malformed("the stream id has no closing brace");
        }
        WEIR_TRY(
            parse_pairs(text.substr(kBraces.size(), text.size() - kBraces.size() - 1), id, others));
    } else if (text.starts_with("#!")) {
        return malformed("the stream id is of an unknown form");
    } else {
        parse_plain(text, id);
        return id;
    }
    take_host_for_resource(id);
    take_user_for_resource(id, others.blackmagic);
    id.query += id.query.empty() || others.query.empty() ? "" : "&";
    id.query += others.query;
    id.mode = id.mode == StreamMode::kNone ? StreamMode::kRequest : id.mode;
    return id;
}

std::string StreamId::write() const {
    std::string pairs;
    append(pairs, "h", vhost);
    append(pairs, "r", query.empty() ? resource : resource + "?" + query);
    append(pairs, "u", user);
    append(pairs, "s", session);
    append(pairs, "key", token);
    append(pairs, "m", mode == StreamMode::kPublish ? "publish" : "request");
    return std::string(kFlat) + pairs;
}

}  // namespace weir::srt
