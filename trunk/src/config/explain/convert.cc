#include "config/explain/convert.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::config {
namespace {

// "2.5" and a factor to milliseconds. Units may be written behind it.
Values duration(const Statement& statement, double bare) {
    const std::string text = to_lower(first_word(statement));
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    const std::string_view unit(end);
    double factor = bare;
    if (unit == "ms") {
        factor = 1;
    } else if (unit == "s") {
        factor = 1000;
    } else if (unit == "m") {
        factor = 60'000;
    } else if (unit == "h") {
        factor = 3'600'000;
    } else if (!unit.empty()) {
        return {};
    }
    const double result = number * factor;
    if (end == text.c_str() || !(result >= 0) || result > 1e12) {
        return {};
    }
    const auto ms = static_cast<uint64_t>(std::llround(result));
    return {ms % 1000 == 0 ? fmt::format("{}s", ms / 1000) : fmt::format("{}ms", ms)};
}

}  // namespace

std::string first_word(const Statement& statement) {
    return statement.arguments.empty() ? "" : statement.arguments[0].text;
}

Values keep(const Statement& statement) {
    std::string text;
    for (const Token& token : statement.arguments) {
        text += text.empty() ? "" : " ";
        text += quoted_word(token.text);
    }
    return {text};
}

Values addresses(const Statement& statement) {
    std::vector<std::string> all;
    for (const Token& token : statement.arguments) {
        const std::string port = token.text.substr(token.text.rfind(':') + 1);
        const bool bare = token.text == port || token.text == ":" + port;
        const std::string word = bare ? "0.0.0.0:" + port : token.text;
        if (std::ranges::find(all, word) == all.end()) {
            all.push_back(word);
        }
    }
    std::string text;
    for (const std::string& word : all) {
        const bool in_other = word.starts_with("0.0.0.0:") &&
                              std::ranges::find(all, "[::]" + word.substr(7)) != all.end();
        if (!in_other) {
            text += text.empty() ? "" : " ";
            text += quoted_word(word);
        }
    }
    return {text};
}

Values tls_addresses(const Statement& statement) {
    Values values = addresses(statement);
    values[0] += " ssl";
    return values;
}

Values seconds(const Statement& statement) {
    return duration(statement, 1000);
}

Values milliseconds(const Statement& statement) {
    return duration(statement, 1);
}

Values flag(const Statement& statement) {
    const std::string word = to_lower(first_word(statement));
    for (const std::string_view yes : {"on", "true", "1", "yes", "enabled"}) {
        if (word == yes) {
            return {"on"};
        }
    }
    return {"off"};
}

Values only_on(const Statement& statement) {
    return {first_word(statement) == "on" ? "on" : "off"};
}

Values when(const Statement& statement, std::string_view word, std::string value) {
    return first_word(statement) == word ? Values{std::move(value)} : Values{};
}

}  // namespace weir::config
