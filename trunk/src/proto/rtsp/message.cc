#include "proto/rtsp/message.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "proto/http/text.h"

namespace weir::rtsp {
namespace {

struct StatusText {
    int status;
    std::string_view text;
};

constexpr std::array kTexts = {
    StatusText{100, "Continue"},
    StatusText{200, "OK"},
    StatusText{201, "Created"},
    StatusText{250, "Low on Storage Space"},
    StatusText{300, "Multiple Choices"},
    StatusText{301, "Moved Permanently"},
    StatusText{302, "Moved Temporarily"},
    StatusText{303, "See Other"},
    StatusText{304, "Not Modified"},
    StatusText{305, "Use Proxy"},
    StatusText{400, "Bad Request"},
    StatusText{401, "Unauthorized"},
    StatusText{402, "Payment Required"},
    StatusText{403, "Forbidden"},
    StatusText{404, "Not Found"},
    StatusText{405, "Method Not Allowed"},
    StatusText{406, "Not Acceptable"},
    StatusText{407, "Proxy Authentication Required"},
    StatusText{408, "Request Timeout"},
    StatusText{410, "Gone"},
    StatusText{411, "Length Required"},
    StatusText{412, "Precondition Failed"},
    StatusText{413, "Request Entity Too Large"},
    StatusText{414, "Request-URI Too Long"},
    StatusText{415, "Unsupported Media Type"},
    StatusText{451, "Parameter Not Understood"},
    StatusText{452, "Conference Not Found"},
    StatusText{453, "Not Enough Bandwidth"},
    StatusText{454, "Session Not Found"},
    StatusText{455, "Method Not Valid in This State"},
    StatusText{456, "Header Field Not Valid for Resource"},
    StatusText{457, "Invalid Range"},
    StatusText{458, "Parameter Is Read-Only"},
    StatusText{459, "Aggregate Operation Not Allowed"},
    StatusText{460, "Only Aggregate Operation Allowed"},
    StatusText{461, "Unsupported Transport"},
    StatusText{462, "Destination Unreachable"},
    StatusText{500, "Internal Server Error"},
    StatusText{501, "Not Implemented"},
    StatusText{502, "Bad Gateway"},
    StatusText{503, "Service Unavailable"},
    StatusText{504, "Gateway Timeout"},
    StatusText{505, "RTSP Version Not Supported"},
    StatusText{551, "Option Not Supported"},
};

bool is_control(char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == '\x7F';
}

std::string without_controls(std::string_view text) {
    std::string out(text);
    std::ranges::replace_if(out, is_control, ' ');
    return out;
}

std::string plain_url(std::string_view url) {
    std::string out;
    for (const char c : url) {
        if (c > ' ' && c < '\x7F') {
            out += c;
        } else {
            out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        }
    }
    return out.empty() ? "*" : out;
}

// The rest of the message, after its first line.
void append_rest(std::string& out, const Message& message) {
    if (message.cseq) {
        out += fmt::format("CSeq: {}\r\n", *message.cseq);
    }
    for (const http::Field& field : message.headers) {
        if (http::is_token(field.name) && !http::equal_ignoring_case(field.name, "CSeq") &&
            !http::equal_ignoring_case(field.name, "Content-Length")) {
            out += fmt::format("{}: {}\r\n", field.name, without_controls(field.value));
        }
    }
    if (!message.body.empty()) {
        out += fmt::format("Content-Length: {}\r\n", message.body.size());
    }
    out += "\r\n";
    out += message.body;
}

}  // namespace

std::string_view status_text(int status) {
    const auto* const found = std::ranges::find(kTexts, status, &StatusText::status);
    return found == kTexts.end() ? "Unknown" : found->text;
}

std::string write(const Request& request) {
    const bool own_name = request.method == Method::kUnknown && http::is_token(request.method_name);
    std::string out =
        fmt::format("{} {} RTSP/1.0\r\n",
                    own_name ? std::string_view(request.method_name) : to_string(request.method),
                    plain_url(request.url));
    append_rest(out, request);
    return out;
}

std::string write(const Response& response) {
    std::string out = fmt::format(
        "RTSP/1.0 {:03} {}\r\n", std::clamp(response.status, 100, 999),
        response.reason.empty() ? status_text(response.status) : without_controls(response.reason));
    append_rest(out, response);
    return out;
}

std::string write(const HttpHead& head) {
    std::string out = fmt::format("{} {} HTTP/1.0\r\n", head.method, plain_url(head.target));
    for (const http::Field& field : head.headers) {
        if (http::is_token(field.name)) {
            out += fmt::format("{}: {}\r\n", field.name, without_controls(field.value));
        }
    }
    return out + "\r\n";
}

}  // namespace weir::rtsp
