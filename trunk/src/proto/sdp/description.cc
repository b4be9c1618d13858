#include "proto/sdp/description.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::sdp {
namespace {

// Tab is the only control character that a line may hold (RFC 8866 §9, byte-string without NUL, CR,
// LF; the others never occur, and an answer may repeat a part of it).
bool has_control_characters(std::string_view line) {
    return std::any_of(line.begin(), line.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\t') || byte == 0x7F;
    });
}

std::string_view trim_end(std::string_view text) {
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
        text.remove_suffix(1);
    }
    return text;
}

void append_line(std::string& out, char type, std::string_view value) {
    out += type;
    out += '=';
    out += value;
    out += "\r\n";
}

void append_attributes(std::string& out, const Attributes& attributes) {
    for (const Attribute& attribute : attributes) {
        out += "a=";
        out += attribute.name;
        if (!attribute.value.empty()) {
            out += ':';
            out += attribute.value;
        }
        out += "\r\n";
    }
}

// Whether a line that cannot be read was meant to begin a section: "m=" and anything, "m video 0
// RTP/AVP 96". The rest of a line that was wrapped is no such line ("mode=AAC-hbr").
bool begins_media(std::string_view line) {
    return line.starts_with('m') &&
           (line.size() == 1 || line[1] == '=' || line[1] == ' ' || line[1] == ':');
}

// A line without the blanks or the byte order mark in front of it.
std::string_view trim_begin(std::string_view text) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.starts_with(kByteOrderMark)) {
        text.remove_prefix(kByteOrderMark.size());
    }
    const auto is_blank = [](char c) { return c >= '\0' && c <= ' '; };
    return {std::ranges::find_if_not(text, is_blank), text.end()};
}

Result<Media> read_media_line(std::string_view value, BrokenLines broken) {
    Media media;
    std::vector<std::string_view> parts = split(value, ' ');
    std::erase(parts, std::string_view());
    if (parts.size() < 4) {
        return make_error(ErrorCode::kMalformed,
                          "m= needs a kind, a port, a protocol and a format");
    }
    if (parts.size() > 3 + kMaxFormats) {
        return make_error(ErrorCode::kLimit, "more than {} formats", kMaxFormats);
    }
    // "<port>/<number of ports>" is for hierarchical encodings, which nobody uses.
    const std::optional<uint64_t> port =
        parse_uint(split_once(parts[1], '/').before, 0, UINT16_MAX);
    if (!port && broken == BrokenLines::kRefuse) {
        return make_error(ErrorCode::kMalformed, "m= has no valid port");
    }
    media.kind = parts[0];
    media.port = static_cast<uint16_t>(port.value_or(0));
    media.protocol = parts[2];
    media.formats.assign(parts.begin() + 3, parts.end());
    return media;
}

// What a line means, once it is split. The m= section under construction is the last of `media`.
Error take_line(Session& session, char type, std::string_view value, BrokenLines broken) {
    const auto skips = [broken](const Error& error) {
        return broken == BrokenLines::kSkip && error.code() == ErrorCode::kMalformed;
    };
    Media* media = session.media.empty() ? nullptr : &session.media.back();
    switch (type) {
        case 'm': {
            if (session.media.size() == kMaxMedia) {
                return make_error(ErrorCode::kLimit, "more than {} media", kMaxMedia);
            }
            Result<Media> parsed = read_media_line(value, broken);
            if (!parsed.ok() && !skips(parsed.error())) {
                return parsed.take_error();
            }
            Media& added = session.media.emplace_back();
            if (parsed.ok()) {
                added = std::move(*parsed);
            } else {
                added.kind = split_once(value, ' ').before;
            }
            return {};
        }
        case 'a': {
            Result<Attribute> attribute = parse_attribute(value);
            if (!attribute.ok()) {
                return skips(attribute.error()) ? Error() : attribute.take_error();
            }
            (media ? media->attributes : session.attributes).push_back(std::move(*attribute));
            return {};
        }
        case 'c': (media ? media->connection : session.connection) = value; return {};
        case 'b': (media ? media->bandwidths : session.bandwidths).emplace_back(value); return {};
        default: break;
    }
    if (media && type == 'i') {
        media->information = value;
    }
    if (!media) {
        switch (type) {
            case 'o': session.origin = value; break;
            case 's': session.name = value; break;
            case 't': session.time = value; break;
            default: break;  // i, u, e, p, r, z, k and what nobody knows: of no use here
        }
    }
    return {};
}

}  // namespace

std::optional<std::string_view> find_attribute(const Attributes& attributes,
                                               std::string_view name) {
    for (const Attribute& attribute : attributes) {
        if (attribute.name == name) {
            return attribute.value;
        }
    }
    return std::nullopt;
}

std::string_view LineReaderView::take_line() {
    const size_t end = rest_.find_first_of("\r\n");
    std::string_view line = rest_.substr(0, end);
    if (end == std::string_view::npos) {
        rest_ = {};
    } else {
        const bool crlf = rest_.substr(end, 2) == "\r\n";
        rest_.remove_prefix(end + (crlf ? 2 : 1));
    }
    return line;
}

bool LineReaderView::fail(ErrorCode code, std::string_view why) {
    error_ = at_line(make_error(code, "{}", why));
    rest_ = {};
    return false;
}

Error LineReaderView::at_line(Error error) const {
    return std::move(error).with_context(fmt::format("line {}", number_));
}

bool LineReaderView::next() {
    while (!rest_.empty()) {
        if (++number_ > kMaxLines) {
            return fail(ErrorCode::kLimit, "too many lines");
        }
        std::string_view line = trim_end(take_line());
        line = skips_ ? trim_begin(line) : line;
        if (line.empty()) {
            continue;
        }
        const std::string_view wrong = line.size() > kMaxLineBytes ? "too long"
                                       : line.size() < 2 || line[1] != '='
                                           ? "not of the form x=value"
                                       : has_control_characters(line) ? "control characters"
                                                                      : "";
        if (!wrong.empty() && !skips_) {
            return fail(line.size() > kMaxLineBytes ? ErrorCode::kLimit : ErrorCode::kMalformed,
                        wrong);
        }
        if (!wrong.empty()) {
            if (!begins_media(line)) {
                continue;
            }
            line = "m=";
        }
        type_ = line[0];
        value_ = line.substr(2);
        return true;
    }
    return false;
}

Result<Media> parse_media_line(std::string_view value) {
    return read_media_line(value, BrokenLines::kRefuse);
}

std::string write_media_line(const Media& media) {
    return fmt::format("{} {} {} {}", media.kind, media.port, media.protocol,
                       join(media.formats, " "));
}

Result<Attribute> parse_attribute(std::string_view value) {
    const Halves halves = split_once(value, ':');
    const std::string_view name = trim(halves.before);
    if (name.empty()) {
        return make_error(ErrorCode::kMalformed, "a= without a name");
    }
    return Attribute{std::string(name), std::string(trim(halves.after))};
}

Result<Session> Session::parse(std::string_view text, BrokenLines broken) {
    if (text.size() > kMaxTextBytes) {
        return make_error(ErrorCode::kLimit, "{} bytes of SDP; at most {} are read", text.size(),
                          kMaxTextBytes);
    }
    Session session;
    session.name.clear();
    session.time.clear();
    LineReaderView lines(text, broken);
    bool versioned = false;
    while (lines.next()) {
        if (!versioned && (lines.type() == 'v' || broken == BrokenLines::kRefuse)) {
            // RFC 8866 §5.1: the only version there is.
            versioned = lines.type() == 'v' && trim(lines.value()) == "0";
            if (!versioned) {
                return make_error(ErrorCode::kMalformed, "not SDP: it does not begin with v=0");
            }
            continue;
        }
        if (Error error = take_line(session, lines.type(), lines.value(), broken)) {
            return lines.at_line(std::move(error));
        }
    }
    if (Error error = lines.take_error()) {
        return error;
    }
    if (!versioned && broken == BrokenLines::kRefuse) {
        return make_error(ErrorCode::kMalformed, "an empty session description");
    }
    const bool described =
        std::ranges::any_of(session.media, [](const Media& each) { return !each.formats.empty(); });
    if (!versioned && !described) {
        return make_error(ErrorCode::kMalformed, "not SDP: neither v=0 nor an m= line");
    }
    if (session.name.empty()) {
        session.name = "-";
    }
    if (session.time.empty()) {
        session.time = "0 0";
    }
    return session;
}

std::string Session::write() const {
    std::string out;
    out.reserve(2048);
    append_line(out, 'v', "0");
    append_line(out, 'o', origin);
    append_line(out, 's', name);
    if (!connection.empty()) {
        append_line(out, 'c', connection);
    }
    for (const std::string& bandwidth : bandwidths) {
        append_line(out, 'b', bandwidth);
    }
    append_line(out, 't', time);
    append_attributes(out, attributes);
    for (const Media& section : media) {
        append_line(out, 'm', write_media_line(section));
        if (!section.information.empty()) {
            append_line(out, 'i', section.information);
        }
        if (!section.connection.empty()) {
            append_line(out, 'c', section.connection);
        }
        for (const std::string& bandwidth : section.bandwidths) {
            append_line(out, 'b', bandwidth);
        }
        append_attributes(out, section.attributes);
    }
    return out;
}

}  // namespace weir::sdp
