#include "base/log_json.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

#include "base/utf8.h"

namespace weir::log {
namespace {

bool is_control(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_key_char(char c) {
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_';
}

int hex_digit(char c) {
    if (is_digit(c)) {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// What log::escaped() did to a text.
std::string unescaped(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); i++) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            out += text[i];
        } else if (text[i + 1] == '"' || text[i + 1] == '\\') {
            out += text[++i];
        } else if (text[i + 1] == 'x' && i + 3 < text.size() && hex_digit(text[i + 2]) >= 0 &&
                   hex_digit(text[i + 3]) >= 0) {
            out += static_cast<char>(hex_digit(text[i + 2]) * 16 + hex_digit(text[i + 3]));
            i += 3;
        } else {
            out += text[i];
        }
    }
    return out;
}

// "12", "0.5": what JSON takes as a number and every reader holds exactly.
bool is_number(std::string_view text) {
    constexpr size_t kMostDigits = 15;
    const size_t point = text.find('.');
    const std::string_view whole = text.substr(0, point);
    if (text.size() > kMostDigits || whole.empty() || (whole.size() > 1 && whole[0] == '0') ||
        !std::ranges::all_of(whole, is_digit)) {
        return false;
    }
    if (point == std::string_view::npos) {
        return true;
    }
    const std::string_view rest = text.substr(point + 1);
    return !rest.empty() && std::ranges::all_of(rest, is_digit);
}

struct Field {
    std::string_view key;
    std::string_view value;  // without quotes, still escaped
    bool quoted = false;
};

// The pair at the start of `text`, up to the space behind it; 0 when it is none.
size_t parse_pair(std::string_view text, Field& field) {
    size_t at = 0;
    while (at < text.size() && is_key_char(text[at])) {
        at++;
    }
    if (at == 0 || is_digit(text[0]) || at >= text.size() || text[at] != '=') {
        return 0;
    }
    field.key = text.substr(0, at++);
    field.quoted = at < text.size() && text[at] == '"';
    if (!field.quoted) {
        const size_t end = std::min(text.find(' ', at), text.size());
        field.value = text.substr(at, end - at);
        return end;
    }
    const size_t begin = ++at;
    while (at < text.size() && text[at] != '"') {
        at += text[at] == '\\' ? size_t{2} : size_t{1};
    }
    if (at >= text.size()) {
        return 0;  // the quote never ends
    }
    field.value = text.substr(begin, at - begin);
    return at + 1;
}

class Parts {
  public:
    explicit Parts(std::string_view text) { split(text); }

    std::string_view before;  // of the message: in front of the pairs
    std::string_view behind;  // and behind them

    size_t count() const { return count_; }

    const Field& field(size_t i) const { return fields_[i]; }

  private:
    bool is_taken(std::string_view key) const {
        return key == "time" || key == "level" || key == "id" || key == "message" ||
               std::ranges::any_of(fields_.begin(), fields_.begin() + count_,
                                   [&](const Field& field) { return field.key == key; });
    }

    void split(std::string_view text) {
        before = text;
        size_t at = 0;
        Field field;
        while (at < text.size() && parse_pair(text.substr(at), field) == 0) {
            const size_t end = std::min(text.find(' ', at), text.size());
            if (end > at && text[end - 1] == ':') {
                return;
            }
            at = std::min(text.find_first_not_of(' ', end), text.size());
        }
        const size_t first = at;
        while (at < text.size() && count_ < kMaxJsonFields) {
            const size_t size = parse_pair(text.substr(at), field);
            if (size == 0 || is_taken(field.key)) {
                break;
            }
            const bool last = ends_the_run(text, at + size, field);
            fields_[count_++] = field;
            at += size;
            if (last) {
                break;
            }
            at = std::min(text.find_first_not_of(' ', at), text.size());
        }
        if (count_ > 0) {
            before = text.substr(0, first);
            behind = text.substr(at);
        }
    }

    // "ip=192.0.2.1: denied": a colon ends the pairs and is no part of the value.
    static bool ends_the_run(std::string_view text, size_t end, Field& field) {
        if (field.quoted) {
            return end < text.size() && text[end] != ' ';
        }
        const bool colon = field.value.ends_with(':') && end < text.size();
        if (colon) {
            field.value.remove_suffix(1);
        }
        return colon;
    }

    std::array<Field, kMaxJsonFields> fields_;
    uint8_t count_ = 0;
};

void append_string_bytes(std::string& out, std::string_view text) {
    while (!text.empty()) {
        const char c = text[0];
        const size_t size = utf8_size(text);
        if (size == 0) {
            out += "\\ufffd";
        } else if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (is_control(c)) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        } else {
            out += text.substr(0, size);
        }
        text.remove_prefix(std::max<size_t>(size, 1));
    }
}

std::string_view take_word(std::string_view& text) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
    return word;
}

std::string_view trimmed(std::string_view text, std::string_view what) {
    const size_t begin = std::min(text.find_first_not_of(what), text.size());
    text.remove_prefix(begin);
    return text.substr(0, text.find_last_not_of(' ') + 1);
}

void append_message(std::string& out, std::string_view before, std::string_view behind) {
    before = trimmed(before, " ");
    behind = trimmed(behind, before.empty() ? " :," : " ");
    out += '"';
    append_string_bytes(out, before);
    if (!before.empty() && !behind.empty()) {
        out += behind.starts_with(':') || behind.starts_with(',') ? "" : ": ";
    }
    append_string_bytes(out, behind);
    out += '"';
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
    out += '"';
    append_string_bytes(out, text);
    out += '"';
}

void append_json(std::string& out, std::string_view line) {
    out += "{\"time\":";
    append_json_string(out, take_word(line));
    out += ",\"level\":";
    append_json_string(out, take_word(line));
    if (line.starts_with('[') && line.find("] ") != std::string_view::npos) {
        const size_t end = line.find("] ");
        out += ",\"id\":";
        append_json_string(out, line.substr(1, end - 1));
        line.remove_prefix(end + 2);
    }
    const Parts parts(line);
    out += ",\"message\":";
    append_message(out, parts.before, parts.behind);
    for (size_t i = 0; i < parts.count(); i++) {
        const Field& field = parts.field(i);
        out += ',';
        append_json_string(out, field.key);
        out += ':';
        if (!field.quoted && is_number(field.value)) {
            out += field.value;
        } else {
            append_json_string(out, unescaped(field.value));
        }
    }
    out += '}';
}

void append_text(std::string& out, std::string_view line) {
    if (std::ranges::none_of(line, is_control)) {
        out += line;
        return;
    }
    for (char c : line) {
        if (is_control(c)) {
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
            out += c;
        }
    }
}

}  // namespace weir::log
