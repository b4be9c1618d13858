#include "config/command_words.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::config {
namespace {

enum class Part : uint8_t { kNone, kApp, kName, kVhost };

bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The variable at the beginning of the text, behind its `$`, and how long it is.
std::pair<Part, size_t> variable_at(std::string_view text) {
    const bool braced = text.starts_with('{');
    text.remove_prefix(braced ? 1 : 0);
    static constexpr std::array<std::pair<std::string_view, Part>, 3> kNames = {
        {{"app", Part::kApp}, {"name", Part::kName}, {"vhost", Part::kVhost}}};
    for (const auto& [name, part] : kNames) {
        if (!text.starts_with(name)) {
            continue;
        }
        const char next = text.size() > name.size() ? text[name.size()] : '\0';
        if (braced ? next == '}' : !is_name_character(next)) {
            return {part, name.size() + (braced ? 2 : 0)};
        }
    }
    return {Part::kNone, 0};
}

bool is_plain(std::string_view text, bool path) {
    const std::vector<std::string_view> parts = split(text, '/');
    if (std::ranges::any_of(parts,
                            [](std::string_view part) { return part == "." || part == ".."; })) {
        return false;
    }
    return !text.starts_with('-') && std::ranges::all_of(text, [path](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               static_cast<uint8_t>(c) >= 0x80 ||
               std::string_view("._~+@-").find(c) != std::string_view::npos || (path && c == '/');
    });
}

}  // namespace

std::string variables_problem(std::string_view word) {
    static constexpr std::array<std::string_view, 3> kNames = {"app", "name", "vhost"};
    for (size_t at = word.find('$'); at != std::string_view::npos; at = word.find('$', at + 1)) {
        std::string_view rest = word.substr(at + 1);
        if (variable_at(rest).first != Part::kNone) {
            continue;
        }
        rest.remove_prefix(rest.starts_with('{') ? 1 : 0);
        const auto end = std::ranges::find_if_not(rest, is_name_character);
        const std::string_view name = rest.substr(0, static_cast<size_t>(end - rest.begin()));
        const std::string_view near = nearest_name(name, kNames);
        return near.empty()
                   ? "a '$' that begins no variable"
                   : fmt::format("the unknown variable ${} (did you mean ${}?)", name, near);
    }
    return {};
}

std::optional<std::vector<std::string>> command_of(const std::vector<std::string>& words,
                                                   const stream::StreamKey& key) {
    // A vhost's name is the configuration's own.
    if (!is_plain(key.app, true) || !is_plain(key.name, false)) {
        return std::nullopt;
    }
    std::vector<std::string> out;
    for (const std::string_view word : words) {
        std::string& to = out.emplace_back();
        for (size_t at = 0; at < word.size();) {
            const size_t dollar = std::min(word.find('$', at), word.size());
            to += word.substr(at, dollar - at);
            if (dollar == word.size()) {
                break;
            }
            const auto [part, size] = variable_at(word.substr(dollar + 1));
            to += part == Part::kApp ? key.app : part == Part::kName ? key.name : key.vhost;
            at = dollar + 1 + size;
        }
    }
    return out;
}

}  // namespace weir::config
