#include "proto/http/fields.h"

#include <algorithm>

namespace weir::http {

namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

}  // namespace

const Fields& no_fields() {
    static const Fields none;
    return none;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
}

bool is_token_character(char c) {
    constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           kMarks.find(c) != std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
    size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

void Fields::set(std::string_view name, std::string value) {
    std::erase_if(fields_,
                  [&](const Field& field) { return equal_ignoring_case(field.name, name); });
    add(std::string(name), std::move(value));
}

std::optional<std::string_view> Fields::get(std::string_view name) const {
    for (const Field& field : fields_) {
        if (equal_ignoring_case(field.name, name)) {
            return field.value;
        }
    }
    return std::nullopt;
}

size_t Fields::count(std::string_view name) const {
    return static_cast<size_t>(
        std::count_if(fields_.begin(), fields_.end(),
                      [&](const Field& field) { return equal_ignoring_case(field.name, name); }));
}

bool Fields::has_token(std::string_view name, std::string_view token) const {
    for (const Field& field : fields_) {
        if (!equal_ignoring_case(field.name, name)) {
            continue;
        }
        std::string_view rest = field.value;
        while (!rest.empty()) {
            size_t comma = rest.find(',');
            if (equal_ignoring_case(trimmed(rest.substr(0, comma)), token)) {
                return true;
            }
            rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
        }
    }
    return false;
}

}  // namespace weir::http
