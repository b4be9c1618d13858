#include "config/settings.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "config/directives.h"
#include "config/value.h"
#include "config/value_types.h"
#include "stream/stream.h"

namespace weir::config {
namespace {

constexpr std::string_view kVhostKey = "vhost.";
constexpr std::string_view kApplicationKey = "vhost.application";
constexpr size_t kMaxShownValue = 400;  // bytes, of a report
constexpr size_t kOriginColumn = 48;

// All that one directive says in one place.
struct Said {
    std::string text;
    std::string shown;
    std::string origin;
    const Directive* directive = nullptr;
};

using Place = std::pair<std::string, std::string>;  // vhost, key
using Index = std::map<Place, Said>;

void append_part(std::string& sum, std::string_view more) {
    if (!sum.empty() && !more.empty()) {
        sum += "; ";
    }
    sum += more;
}

Index index_of(const Settings& settings) {
    Index index;
    for (const Setting& setting : settings.list) {
        Said& said = index[{setting.vhost, setting.key}];
        append_part(said.text, setting.text);
        append_part(said.shown, setting.shown);
        said.origin = setting.origin;
        said.directive = setting.directive;
    }
    return index;
}

std::string vhost_of(const std::string& section) {
    return section.substr(0, section.find('/'));
}

// What holds there: its own, else that of the vhost around it, of the top level, or the default.
Said effective(const Index& index, const Place& place, const Directive& directive) {
    for (const std::string& vhost : {place.first, vhost_of(place.first), std::string()}) {
        if (const auto found = index.find({vhost, place.second}); found != index.end()) {
            return found->second;
        }
    }
    const std::string text = default_text_of(directive);
    return {text, text, "", nullptr};
}

bool has_section(const Index& index, const std::string& vhost) {
    return vhost.empty() || vhost == stream::kDefaultVhost || index.contains({vhost, "vhost"}) ||
           index.contains({vhost, std::string(kApplicationKey)});
}

size_t order_of(const Directive& directive) {
    return static_cast<size_t>(&directive - directives().data());
}

std::string value_text(std::string_view value) {
    return value.empty() ? "(none)" : log::escaped(value, kMaxShownValue);
}

// "listen 1935;" and behind it, in one column, where it comes from.
void add_line(std::string& out, size_t depth, std::string_view text, std::string_view origin) {
    std::string line(4 * depth, ' ');
    line += text;
    line.resize(std::max(line.size() + 2, kOriginColumn), ' ');
    out += fmt::format("{}# {}\n", line, origin);
}

class Dump {
  public:
    explicit Dump(const Settings& settings) : settings_(settings) {}

    std::string text() {
        add_block(kGlobalContext, "", "", 0);
        add_applications(std::string(stream::kDefaultVhost), 0);
        for (const Setting& setting : settings_.list) {
            if (setting.key == "vhost") {
                out_ += '\n';
                add_line(out_, 0, fmt::format("vhost {} {{", setting.vhost), setting.origin);
                add_block(kVhostContext, setting.vhost, "", 1);
                add_applications(setting.vhost, 1);
                out_ += "}\n";
            }
        }
        return std::move(out_);
    }

  private:
    // Those of the default vhost stand at the top level where it has no section.
    void add_applications(const std::string& vhost, size_t depth) {
        const bool has_section = std::ranges::any_of(settings_.list, [&](const Setting& each) {
            return each.key == "vhost" && each.vhost == vhost;
        });
        if (has_section != (depth == 1)) {
            return;
        }
        for (const Setting& setting : settings_.list) {
            if (setting.key == kApplicationKey && vhost_of(setting.vhost) == vhost) {
                out_ += '\n';
                add_line(out_, depth, fmt::format("application {} {{", setting.shown),
                         setting.origin);
                add_block(kApplicationContext, setting.vhost, "", depth + 1);
                out_ += std::string(4 * depth, ' ') + "}\n";
            }
        }
    }

    // In a section of a vhost what it says itself, at the top level everything.
    void add_block(Context context,
                   const std::string& vhost,
                   const std::string& path,
                   size_t depth) {
        for (const Directive& directive : directives()) {
            if ((directive.contexts & context) == 0 || directive.type == ValueType::kVhost ||
                directive.type == ValueType::kApplication ||
                directive.type == ValueType::kInclude) {
                continue;
            }
            const bool of_vhost = path.empty() && (directive.contexts & kVhostContext) != 0;
            const std::string key =
                fmt::format("{}{}{}", path, of_vhost ? kVhostKey : "", directive.name);
            if (directive.type == ValueType::kBlock) {
                add_inner(directive, vhost, key, depth);
            } else if (directive.type == ValueType::kAccess) {
                continue;  // with its block
            } else if (!add_given(vhost, key, directive, depth) && vhost.empty() &&
                       !directive.default_text.empty()) {
                add_line(out_, depth,
                         fmt::format("{} {};", directive.name, default_text_of(directive)),
                         "default");
            }
        }
    }

    void add_inner(const Directive& directive,
                   const std::string& vhost,
                   const std::string& key,
                   size_t depth) {
        const size_t before = out_.size();
        out_ += fmt::format("{}{} {{\n", std::string(4 * depth, ' '), directive.name);
        const size_t open = out_.size();
        bool given = false;
        for (const Setting& setting : settings_.list) {
            if (setting.vhost != vhost || setting.key != key) {
                continue;
            }
            given = true;
            if (!setting.shown.empty()) {  // a rule
                add_line(out_, depth + 1, setting.shown + ";", setting.origin);
            }
        }
        add_block(directive.opens, vhost, key + ".", depth + 1);
        if (out_.size() == open && !given) {
            out_.resize(before);
            return;
        }
        out_ += std::string(4 * depth, ' ') + "}\n";
    }

    bool add_given(const std::string& vhost,
                   const std::string& key,
                   const Directive& directive,
                   size_t depth) {
        bool given = false;
        for (const Setting& setting : settings_.list) {
            if (setting.vhost == vhost && setting.key == key) {
                const bool block = may_have_block(directive) && setting.shown.ends_with('}');
                add_line(out_, depth,
                         fmt::format("{} {}{}", directive.name, setting.shown, block ? "" : ";"),
                         setting.origin);
                given = true;
            }
        }
        return given;
    }

    const Settings& settings_;
    std::string out_;
};

}  // namespace

std::string directive_text(std::string_view key) {
    if (key.starts_with(kVhostKey)) {
        key.remove_prefix(kVhostKey.size());
    }
    std::string name(key);
    std::ranges::replace(name, '.', ' ');
    return name;
}

ChangeEffect effect_of(const Directive& directive, std::string_view key) {
    if (!directive.reloadable) {
        return ChangeEffect::kRestart;
    }
    switch (directive.effect) {
        case Effect::kApplied: return ChangeEffect::kApplied;
        case Effect::kNewConnections: return ChangeEffect::kNewConnections;
        case Effect::kByPlace: break;
    }
    return key.starts_with(kVhostKey) ? ChangeEffect::kNewConnections : ChangeEffect::kApplied;
}

std::string_view to_string(ChangeEffect effect) {
    switch (effect) {
        case ChangeEffect::kApplied: return "applied";
        case ChangeEffect::kNewConnections: return "new connections";
        case ChangeEffect::kRestart: return "needs a restart";
    }
    return {};
}

std::string to_string(const SettingChange& change) {
    return fmt::format("{} {} -> {}{}{} ({})", change.directive, value_text(change.from),
                       value_text(change.to), change.vhost.empty() ? "" : " vhost=", change.vhost,
                       to_string(change.effect));
}

std::vector<SettingChange> changes_between(const Settings& before, const Settings& after) {
    const Index old_index = index_of(before);
    const Index new_index = index_of(after);
    std::map<Place, const Directive*> places;
    for (const Index* index : {&old_index, &new_index}) {
        for (const auto& [place, said] : *index) {
            places[place] = said.directive;
        }
    }
    std::vector<std::pair<size_t, SettingChange>> found;
    for (const auto& [place, directive] : places) {
        const auto& [vhost, key] = place;
        const bool was = has_section(old_index, vhost);
        const bool is = has_section(new_index, vhost);
        SettingChange change;
        change.vhost = vhost;
        if (key == "vhost" || key == kApplicationKey) {
            if (was == is) {
                continue;
            }
            change.directive = directive_text(key);
            change.from = was ? vhost : "";
            change.to = is ? vhost : "";
            change.effect = ChangeEffect::kNewConnections;
        } else if (!was || !is) {
            continue;  // goes or comes with its vhost
        } else {
            const Said from = effective(old_index, place, *directive);
            const Said to = effective(new_index, place, *directive);
            if (from.text == to.text) {
                continue;
            }
            change.directive = directive_text(key);
            change.from = from.shown;
            change.to = to.shown;
            change.effect = effect_of(*directive, key);
        }
        found.emplace_back(order_of(*directive), std::move(change));
    }
    std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
    std::vector<SettingChange> changes;
    for (auto& [order, change] : found) {
        changes.push_back(std::move(change));
    }
    return changes;
}

Settings still_running(const Settings& before, Settings after) {
    const auto waits = [](const Setting& setting) { return !setting.directive->reloadable; };
    std::erase_if(after.list, waits);
    std::ranges::copy_if(before.list, std::back_inserter(after.list), waits);
    return after;
}

std::string dump_config(const Settings& settings) {
    return Dump(settings).text();
}

std::vector<std::string> secrets_of(const Settings& settings) {
    std::set<std::string> all;
    for (const Setting& setting : settings.list) {
        all.insert(setting.secrets.begin(), setting.secrets.end());
    }
    return {all.begin(), all.end()};
}

}  // namespace weir::config
