#include "proto/cluster/names.h"

#include <algorithm>

#include "base/strings.h"

namespace weir::cluster {
namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

void append_escaped(std::string_view text, bool slashes, std::string& out) {
    for (const char c : text) {
        if (is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '~' ||
            (slashes && c == '/')) {
            out += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            out += '%';
            out += kHexDigits[byte >> 4];
            out += kHexDigits[byte & 15];
        }
    }
}

}  // namespace

bool is_node_name(std::string_view text) {
    return !text.empty() && text.size() <= kMaxNodeName && std::ranges::all_of(text, [](char c) {
        return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_';
    });
}

bool is_boot_id(std::string_view text) {
    return text.size() == kBootIdLength && std::ranges::all_of(text, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
           });
}

std::string stream_text(const StreamName& stream) {
    std::string text;
    append_escaped(stream.vhost, false, text);
    text += '/';
    append_escaped(stream.app, true, text);
    text += '/';
    append_escaped(stream.name, false, text);
    return text;
}

std::optional<StreamName> parse_stream_text(std::string_view text) {
    const size_t first = text.find('/');
    const size_t last = text.rfind('/');
    if (text.size() > kMaxStreamText || first == last) {
        return std::nullopt;
    }
    StreamName stream{url_decode(text.substr(0, first)),
                      url_decode(text.substr(first + 1, last - first - 1)),
                      url_decode(text.substr(last + 1))};
    if (stream_text(stream) != text) {
        return std::nullopt;
    }
    return stream;
}

std::string node_key(std::string_view node) {
    return std::string(kNodePrefix) + std::string(node);
}

std::string stream_key(std::string_view stream_text) {
    return std::string(kStreamPrefix) + std::string(stream_text);
}

std::string relays_key(std::string_view node) {
    return std::string(kRelaysPrefix) + std::string(node);
}

}  // namespace weir::cluster
