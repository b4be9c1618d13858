#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "config/explain/mediamtx.h"
#include "config/explain/translate.h"

namespace weir::config {
namespace {

// What stands behind the name of an application in a regular expression, where it means every
// stream of it.
bool is_anything(std::string_view rest) {
    if (rest.ends_with('$')) {
        rest.remove_suffix(1);
    }
    for (const std::string_view each :
         {".*", ".+", "(.*)", "(.+)", "([^/]+)", "[^/]+", "([^/]*)", "[^/]*", "(\\w+)", "\\w+"}) {
        if (rest == each) {
            return true;
        }
    }
    return false;
}

bool is_plain_name(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("_.~-/").find(c) != std::string_view::npos;
    });
}

class MediaMtxExplainer : private Explainer {
  public:
    explicit MediaMtxExplainer(std::string file)
        : Explainer(mediamtx_directives(), std::move(file)) {}

    Explained run(const YamlNode& root) {
        explain_mtx_servers(*this, root);
        const MtxAccess access = explain_mtx_access(*this, root);
        explain_mtx_paths(*this, root, access);
        for (size_t i = 0; i < root.keys.size(); i++) {
            const std::string& key = root.keys[i];
            if (key != "paths" && key != "pathDefaults" && !is_mtx_server_key(key) &&
                !is_mtx_access_key(key)) {
                const Statement statement = statement_of(key, root.key_lines[i], root.values[i]);
                if (!statement.arguments.empty() || find(key) == nullptr) {
                    explain_one(statement, key, {});
                }
            }
        }
        return result("MediaMTX", mediamtx_differences());
    }
};

}  // namespace

Statement statement_of(std::string_view key, uint32_t line, const YamlNode& value) {
    Statement statement;
    statement.name.text = key;
    statement.name.at.line = line;
    const auto add = [&](const YamlNode& word) {
        if (!word.text.empty() && statement.arguments.size() < kMaxConfigArguments) {
            Token token;
            token.text = word.text;
            statement.arguments.push_back(std::move(token));
        }
    };
    add(value);
    std::ranges::for_each(value.items, add);
    return statement;
}

bool is_yes(std::string_view word) {
    const std::string lower = to_lower(word);
    return lower == "yes" || lower == "true" || lower == "on";
}

MtxName parse_mtx_name(std::string_view path) {
    MtxName name;
    if (path == "all" || path == "all_others") {
        name.kind = MtxName::Kind::kAll;
        return name;
    }
    if (!path.starts_with('~')) {
        const size_t slash = path.rfind('/');
        name.kind = is_plain_name(path) ? MtxName::Kind::kStream : MtxName::Kind::kOther;
        name.app = slash == std::string_view::npos ? kMtxApplication : path.substr(0, slash);
        name.stream = slash == std::string_view::npos ? path : path.substr(slash + 1);
        return name;
    }
    std::string_view pattern = path.substr(1);
    const bool from_begin = pattern.starts_with('^');
    pattern.remove_prefix(from_begin ? 1 : 0);
    if (is_anything(pattern)) {
        // One part alone is a stream of the application for these.
        const bool one_part = pattern.find("[^/]") != std::string_view::npos ||
                              pattern.find("\\w") != std::string_view::npos;
        name.kind = one_part ? MtxName::Kind::kApplication : MtxName::Kind::kAll;
        name.app = one_part ? std::string(kMtxApplication) : "";
        return name;
    }
    const size_t slash = pattern.rfind('/', pattern.find_first_of("([.\\*+$"));
    const std::string_view app = pattern.substr(0, slash == std::string_view::npos ? 0 : slash);
    if (from_begin && is_plain_name(app) &&
        (is_anything(pattern.substr(slash + 1)) || pattern.substr(slash + 1).empty())) {
        name.kind = MtxName::Kind::kApplication;
        name.app = app;
    }
    return name;
}

std::string mtx_address(std::string_view text) {
    return std::string(text.starts_with(':') ? text.substr(1) : text);
}

std::string mtx_port(std::string_view text) {
    return std::string(text.substr(text.rfind(':') + 1));
}

MtxRules MtxRules::with(const MtxRules& first) const {
    MtxRules both = first;
    both.said = said || first.said;
    for (const OutLine& line : lines) {
        if (std::ranges::find(both.lines, line.text, &OutLine::text) == both.lines.end()) {
            both.lines.push_back(line);
        }
    }
    return both;
}

Explained explain_mediamtx(const YamlNode& root, std::string file) {
    return MediaMtxExplainer(std::move(file)).run(root);
}

}  // namespace weir::config
