#include "config/explain/translate.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::config {
namespace {

constexpr double kMinWindow = 3;  // of hls { window; }
constexpr double kMaxWindow = 100;

bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view name_at(std::string_view text) {
    size_t size = 0;
    while (size < text.size() && is_name_char(text[size])) {
        size++;
    }
    return text.substr(0, size);
}

// A variable at the beginning of a text.
struct Found {
    std::string_view name;
    size_t size = 0;  // of all of it; 0: there is none
};

Found variable_at(std::string_view text, VariableForm form) {
    const bool dollar = form == VariableForm::kDollar;
    if (text.empty() || text.front() != (dollar ? '$' : '[')) {
        return {};
    }
    text.remove_prefix(1);
    const bool braced = dollar && text.starts_with('{');
    const std::string_view name = name_at(text.substr(braced ? 1 : 0));
    const size_t end = name.size() + (braced ? 1 : 0);
    const char close = dollar ? '}' : ']';
    if (!dollar || braced) {
        return end < text.size() && text[end] == close ? Found{name, end + 2} : Found{};
    }
    return {name, name.size() + 1};
}

// The text with its last variable in braces, where what follows would be taken for its name.
std::string variable_text(std::string_view here, std::string_view rest) {
    const size_t last = here.rfind('$');
    const bool goes_on = !rest.empty() && is_name_char(rest.front());
    if (last == std::string_view::npos || !goes_on ||
        name_at(here.substr(last + 1)).size() + last + 1 < here.size()) {
        return std::string(here);
    }
    return fmt::format("{}${{{}}}", here.substr(0, last), here.substr(last + 1));
}

}  // namespace

Substituted substitute(std::string_view word,
                       std::span<const Variable> variables,
                       VariableForm form) {
    Substituted out;
    while (!word.empty()) {
        const Found found = variable_at(word, form);
        const auto known = std::ranges::find_if(
            variables, [&](const Variable& each) { return each.there == found.name; });
        const bool is_one = found.size > 0 && known != variables.end();
        if (!is_one && word.front() == '$') {
            out.unknown = found.name.empty() ? "$" : found.name;
            return out;
        }
        if (!is_one) {
            out.text += word.front();
            word.remove_prefix(1);
            continue;
        }
        if (known->here.empty()) {
            out.unknown = found.name;
            return out;
        }
        word.remove_prefix(found.size);
        out.text += variable_text(known->here, word);
    }
    return out;
}

Written exec_line(const std::vector<std::string>& words) {
    std::string line = "exec_push";
    for (const std::string& word : words) {
        line += " " + quoted_word(word);
    }
    const std::string program = words.empty() ? "" : words.front();
    return {line + ";", fmt::format("exec_push {} ... ;", program),
            "begun again when it ends by itself; what it writes goes into the log"};
}

Written forward_line(const std::string& url, std::string note) {
    return {fmt::format("forward {};", quoted_word(url)),
            fmt::format("forward {};", shown_word(url)), std::move(note)};
}

Written source_line(const std::string& url,
                    std::string_view stream,
                    std::string_view options,
                    std::string note) {
    std::string tail = ";";
    if (!stream.empty()) {
        tail = fmt::format(" {{ stream {};{}{} }}", quoted_word(std::string(stream)),
                           options.empty() ? "" : " ", options);
    }
    return {fmt::format("source {}{}", quoted_word(url), tail),
            fmt::format("source {}{}", shown_word(url), tail), std::move(note)};
}

bool is_host(std::string_view text) {
    if (text.empty() || text.size() > 260 ||
        text.find_first_of("/@?# \"';{}\\$") != std::string_view::npos) {
        return false;
    }
    return std::ranges::all_of(text, [](char c) { return c > ' ' && c != 0x7f; });
}

std::string window_text(double fragment_s, double length_s) {
    const double count = fragment_s > 0 ? std::ceil(length_s / fragment_s) : kMinWindow;
    return fmt::format("{}", static_cast<int>(std::clamp(count, kMinWindow, kMaxWindow)));
}

std::optional<double> seconds_of(std::string_view text, double bare) {
    const std::string copy = to_lower(text);
    char* end = nullptr;
    const double number = std::strtod(copy.c_str(), &end);
    const std::string_view unit(end);
    double factor = bare;
    if (unit == "ms") {
        factor = 0.001;
    } else if (unit == "s") {
        factor = 1;
    } else if (unit == "m") {
        factor = 60;
    } else if (unit == "h") {
        factor = 3600;
    } else if (unit == "d") {
        factor = 86'400;
    } else if (!unit.empty()) {
        return std::nullopt;
    }
    const double result = number * factor;
    if (end == copy.c_str() || !(result >= 0) || result > 1e9) {
        return std::nullopt;
    }
    return result;
}

std::string seconds_text(double seconds) {
    const auto ms = static_cast<uint64_t>(std::llround(seconds * 1000));
    return ms % 1000 == 0 ? fmt::format("{}s", ms / 1000) : fmt::format("{}ms", ms);
}

std::optional<uint64_t> bytes_of(std::string_view text) {
    uint64_t factor = 1;
    const std::string copy = to_lower(text);
    std::string_view digits = copy;
    const char last = digits.empty() ? '\0' : digits.back();
    if (last == 'k' || last == 'm' || last == 'g') {
        factor = last == 'k' ? 1U << 10 : last == 'm' ? 1U << 20 : 1U << 30;
        digits.remove_suffix(1);
    }
    const std::optional<uint64_t> number = parse_uint(digits);
    return number && *number <= (uint64_t{1} << 40) ? std::optional(*number * factor)
                                                    : std::nullopt;
}

bool is_own_address(std::string_view word) {
    const size_t scheme = word.find("://");
    if (scheme == std::string_view::npos) {
        return false;
    }
    std::string_view host = word.substr(scheme + 3);
    host = host.substr(0, host.find_first_of("/?#"));
    const size_t user = host.rfind('@');
    host = user == std::string_view::npos ? host : host.substr(user + 1);
    return host.starts_with("localhost") || host.starts_with("127.") || host.starts_with("[::1]");
}

std::vector<std::string> words_of(const Statement& statement) {
    std::vector<std::string> words;
    for (const Token& token : statement.arguments) {
        words.push_back(token.text);
    }
    return words;
}

const Statement* child_of(const std::vector<Statement>& statements, std::string_view name) {
    const auto found = std::ranges::find_if(
        statements, [&](const Statement& each) { return each.name.text == name; });
    return found == statements.end() ? nullptr : &*found;
}

std::string word_of(const std::vector<Statement>& statements,
                    std::string_view name,
                    std::string_view other) {
    const Statement* found = child_of(statements, name);
    return found != nullptr ? first_word(*found) : std::string(other);
}

}  // namespace weir::config
