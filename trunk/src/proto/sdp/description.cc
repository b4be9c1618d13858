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

// What a line means, once it is split. The m= section under construction is the last of `media`.
Error take_line(Session& session, char type, std::string_view value) {
    Media* media = session.media.empty() ? nullptr : &session.media.back();
    switch (type) {
        case 'm': {
            if (session.media.size() == kMaxMedia) {
                return make_error(ErrorCode::kLimit, "more than {} media", kMaxMedia);
            }
            WEIR_TRY_ASSIGN(Media parsed, parse_media_line(value));
            session.media.push_back(std::move(parsed));
            return {};
        }
        case 'a': {
            WEIR_TRY_ASSIGN(Attribute attribute, parse_attribute(value));
            (media ? media->attributes : session.attributes).push_back(std::move(attribute));
            return {};
        }
        case 'c': (media ? media->connection : session.connection) = value; return {};
        case 'b': (media ? media->bandwidths : session.bandwidths).emplace_back(value); return {};
        default: break;
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
        const std::string_view line = trim_end(take_line());
        if (line.empty()) {
            continue;
        }
        if (line.size() > kMaxLineBytes) {
            return fail(ErrorCode::kLimit, "too long");
        }
        if (line.size() < 2 || line[1] != '=') {
            return fail(ErrorCode::kMalformed, "not of the form x=value");
        }
        if (has_control_characters(line)) {
            return fail(ErrorCode::kMalformed, "control characters");
        }
        type_ = line[0];
        value_ = line.substr(2);
        return true;
    }
    return false;
}

Result<Media> parse_media_line(std::string_view value) {
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
    if (!port) {
        return make_error(ErrorCode::kMalformed, "m= has no valid port");
    }
    media.kind = parts[0];
    media.port = static_cast<uint16_t>(*port);
    media.protocol = parts[2];
    media.formats.assign(parts.begin() + 3, parts.end());
    return media;
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

Result<Session> Session::parse(std::string_view text) {
    if (text.size() > kMaxTextBytes) {
        return make_error(ErrorCode::kLimit, "{} bytes of SDP; at most {} are read", text.size(),
                          kMaxTextBytes);
    }
    Session session;
    session.name.clear();
    session.time.clear();
    LineReaderView lines(text);
    bool first = true;
    while (lines.next()) {
        if (std::exchange(first, false)) {
            // RFC 8866 §5.1: the only version there is.
            if (lines.type() != 'v' || trim(lines.value()) != "0") {
                return make_error(ErrorCode::kMalformed, "not SDP: it does not begin with v=0");
            }
            continue;
        }
        if (Error error = take_line(session, lines.type(), lines.value())) {
            return lines.at_line(std::move(error));
        }
    }
    if (Error error = lines.take_error()) {
        return error;
    }
    if (first) {
        return make_error(ErrorCode::kMalformed, "an empty session description");
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
