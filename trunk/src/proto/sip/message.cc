#include "proto/sip/message.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "proto/http/text.h"

namespace weir::sip {
namespace {

struct CompactName {
    char letter;
    std::string_view name;
};

// RFC 3261 §7.3.3, and those of later documents (IANA's list of header fields).
constexpr std::array kCompact = {
    CompactName{'a', "Accept-Contact"},
    CompactName{'b', "Referred-By"},
    CompactName{'c', "Content-Type"},
    CompactName{'d', "Request-Disposition"},
    CompactName{'e', "Content-Encoding"},
    CompactName{'f', "From"},
    CompactName{'i', "Call-ID"},
    CompactName{'j', "Reject-Contact"},
    CompactName{'k', "Supported"},
    CompactName{'l', "Content-Length"},
    CompactName{'m', "Contact"},
    CompactName{'n', "Identity-Info"},
    CompactName{'o', "Event"},
    CompactName{'r', "Refer-To"},
    CompactName{'s', "Subject"},
    CompactName{'t', "To"},
    CompactName{'u', "Allow-Events"},
    CompactName{'v', "Via"},
    CompactName{'x', "Session-Expires"},
    CompactName{'y', "Identity"},
};

std::string full_name(std::string_view name) {
    if (name.size() == 1) {
        const char letter = to_lower(name)[0];
        const auto* const found = std::ranges::find(kCompact, letter, &CompactName::letter);
        if (found != kCompact.end()) {
            return std::string(found->name);
        }
    }
    return std::string(name);
}

ParsedHead failed(ParsedHead head, int status, std::string_view reason) {
    head.status = status;
    head.reason = reason;
    return head;
}

// False: a line that is no field, or too many of them.
bool read_fields(std::string_view lines, http::Fields& fields) {
    std::string name;
    std::string value;
    size_t count = 0;
    const auto keep = [&] {
        if (!name.empty()) {
            fields.add(std::exchange(name, {}), std::exchange(value, {}));
        }
    };
    while (!lines.empty()) {
        const std::string_view line = http::take_line(lines);
        if (line.empty()) {
            break;
        }
        if (line[0] == ' ' || line[0] == '\t') {
            const std::string_view more = http::trimmed(line);
            if (name.empty()) {
                return false;
            }
            value += value.empty() || more.empty() ? "" : " ";
            value += more;
            continue;
        }
        keep();
        const Halves halves = split_once(line, ':');
        const std::string_view field = http::trimmed(halves.before);
        if (!halves.found || !http::is_token(field) || ++count > kMaxFields) {
            return false;
        }
        name = full_name(field);
        value = http::trimmed(halves.after);
    }
    keep();
    return true;
}

// nullopt: two that differ, or no number. `found` stays empty where there is none.
bool read_content_length(const http::Fields& fields, std::optional<size_t>& found) {
    for (const http::Field& field : fields) {
        if (!http::equal_ignoring_case(field.name, "Content-Length")) {
            continue;
        }
        const std::optional<uint64_t> value = parse_uint(field.value);
        if (!value || (found && *found != *value)) {
            return false;
        }
        found = static_cast<size_t>(*value);
    }
    return true;
}

// "SIP/2.0 180 Ringing"; the reason may be missing.
bool read_status_line(std::string_view line, Response& out) {
    const Halves version = split_once(line, ' ');
    const Halves status = split_once(version.after, ' ');
    const std::optional<uint64_t> code = parse_uint(status.before, 100, 699);
    if (!equals_ignore_case(version.before, "SIP/2.0") || !code || status.before.size() != 3) {
        return false;
    }
    out.status = static_cast<int>(*code);
    out.reason = http::trimmed(status.after);
    return true;
}

// "INVITE sip:a@b SIP/2.0". The version is checked by the caller, since it has a status of its own.
bool read_request_line(std::string_view line, Request& out, std::string_view& version) {
    const Halves method = split_once(line, ' ');
    const Halves rest = split_once(method.after, ' ');
    version = http::trimmed(rest.after);
    const bool uri = !rest.before.empty() && rest.before.front() != '<' &&
                     std::ranges::none_of(rest.before, [](char c) {
                         return static_cast<unsigned char>(c) <= ' ' || c == '\x7F';
                     });
    if (!http::is_token(method.before) || method.before.size() > kMaxMethodBytes || !uri) {
        return false;
    }
    out.method = parse_method(method.before);
    out.method_name = method.before;
    out.uri = rest.before;
    return version.size() > 4 && equals_ignore_case(version.substr(0, 4), "SIP/");
}

std::string without_controls(std::string_view text) {
    std::string out(text);
    std::ranges::replace_if(
        out,
        [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == '\x7F'; },
        ' ');
    return std::string(http::trimmed(out));
}

std::string plain_uri(std::string_view uri) {
    std::string out;
    for (const char c : uri) {
        if (c > ' ' && c < '\x7F') {
            out += c;
        } else {
            out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        }
    }
    return out.empty() ? "sip:invalid" : out;
}

void append_rest(std::string& out, const MessageBase& message) {
    for (const http::Field& field : message.headers) {
        if (http::is_token(field.name) &&
            !http::equal_ignoring_case(field.name, "Content-Length")) {
            out += field.name;
            out += ": ";
            out += without_controls(field.value);
            out += "\r\n";
        }
    }
    out += fmt::format("Content-Length: {}\r\n\r\n", message.body.size());
    out += message.body;
}

}  // namespace

size_t find_head_end(std::string_view bytes, size_t& from) {
    for (size_t at = bytes.find('\n', from); at != std::string_view::npos;
         at = bytes.find('\n', at + 1)) {
        if (at + 1 < bytes.size() && bytes[at + 1] == '\n') {
            return at + 2;
        }
        if (at + 2 < bytes.size() && bytes[at + 1] == '\r' && bytes[at + 2] == '\n') {
            return at + 3;
        }
    }
    from = bytes.size() < 2 ? 0 : bytes.size() - 2;
    return 0;
}

ParsedHead parse_head(std::string_view head) {
    ParsedHead out;
    const std::string_view line = http::take_line(head);
    const bool is_response = equals_ignore_case(line.substr(0, 4), "SIP/");
    std::string_view version;
    if (line.size() > kMaxFirstLine) {
        return failed(std::move(out), is_response ? 0 : 414, "the first line is too long");
    }
    if (is_response) {
        if (!read_status_line(line, out.message.emplace<Response>())) {
            return failed(std::move(out), 0, "the status line is malformed");
        }
    } else if (!read_request_line(line, std::get<Request>(out.message), version)) {
        // The fields may tell where to send the answer.
        read_fields(head, std::get<Request>(out.message).headers);
        return failed(std::move(out), 400, "the request line is malformed");
    }
    http::Fields& fields = is_response ? std::get<Response>(out.message).headers
                                       : std::get<Request>(out.message).headers;
    const bool readable = read_fields(head, fields);
    if (!is_response && !equals_ignore_case(version, "SIP/2.0")) {
        return failed(std::move(out), 505, "only SIP/2.0 is spoken here");
    }
    if (!readable) {
        return failed(std::move(out), is_response ? 0 : 400, "a header field is malformed");
    }
    if (!read_content_length(fields, out.content_length)) {
        return failed(std::move(out), is_response ? 0 : 400, "Content-Length is malformed");
    }
    return out;
}

Parsed parse_datagram(ByteSpan datagram) {
    std::string_view bytes = as_text(datagram);
    bytes.remove_prefix(std::min(bytes.find_first_not_of("\r\n"), bytes.size()));
    Parsed out;
    out.bytes = datagram.size();
    if (bytes.empty()) {
        out.kind = Parsed::Kind::kKeepAlive;
        return out;
    }
    size_t from = 0;
    const size_t head_end = find_head_end(bytes.substr(0, kMaxHeadBytes), from);
    if (head_end == 0 || bytes.size() > kMaxMessageBytes) {
        out.reason = "the head has no end, or is too long";
        return out;
    }
    ParsedHead head = parse_head(bytes.substr(0, head_end));
    out.message = std::move(head.message);
    out.status = head.status;
    out.reason = head.reason;
    if (!head.reason.empty()) {
        return out;
    }
    const std::string_view rest = bytes.substr(head_end);
    if (head.content_length.value_or(0) > rest.size()) {
        out.status = std::holds_alternative<Request>(out.message) ? 400 : 0;
        out.reason = "the body is shorter than Content-Length says";
        return out;
    }
    std::visit(
        [&](auto& each) { each.body = rest.substr(0, head.content_length.value_or(rest.size())); },
        out.message);
    out.kind = Parsed::Kind::kMessage;
    return out;
}

std::string write(const Request& request) {
    const bool own_name = request.method == Method::kUnknown && http::is_token(request.method_name);
    std::string out =
        fmt::format("{} {} SIP/2.0\r\n",
                    own_name ? std::string_view(request.method_name) : to_string(request.method),
                    plain_uri(request.uri));
    append_rest(out, request);
    return out;
}

std::string write(const Response& response) {
    const std::string reason = without_controls(response.reason);
    std::string out = fmt::format("SIP/2.0 {:03} {}\r\n", std::clamp(response.status, 100, 699),
                                  reason.empty() ? status_text(response.status) : reason);
    append_rest(out, response);
    return out;
}

std::string write(const Message& message) {
    return std::visit([](const auto& each) { return write(each); }, message);
}

}  // namespace weir::sip
