#include "config/explain/explainer.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/redact.h"
#include "base/strings.h"
#include "config/access_rules.h"
#include "config/settings.h"
#include "config/value.h"

namespace weir::config {
namespace {

constexpr size_t kMaxShown = 120;  // of a foreign statement

bool fits(std::string_view pattern, std::string_view name) {
    if (pattern.ends_with('*')) {
        pattern.remove_suffix(1);
        return name.starts_with(pattern) && name.size() > pattern.size();
    }
    return pattern == name;
}

// Of which every word may be a secret, or hold one.
bool hides_words(const Statement& statement) {
    const std::string_view name = statement.name.text;
    for (const std::string_view part : {"pass", "secret", "token"}) {
        if (name.find(part) != std::string_view::npos) {
            return true;
        }
    }
    const std::string word = first_word(statement);
    const bool names_file = word.find_first_of("/.") != std::string::npos;
    return name.starts_with("exec") || name.starts_with("runOn") || (name == "key" && !names_file);
}

// Of those whose key stands in the path of an address.
bool hides_paths(std::string_view name) {
    if (name.starts_with("on_")) {
        return true;
    }
    for (const std::string_view each :
         {"push", "pull", "forward", "destination", "origin", "url", "output", "backend", "source",
          "dest", "authHTTPAddress", "externalAuthenticationURL"}) {
        if (name == each) {
            return true;
        }
    }
    return false;
}

// Of a function that the old server did not use.
bool is_switched_off(const Statement& statement) {
    const std::string word = to_lower(first_word(statement));
    return !statement.has_block &&
           (word == "off" || word == "0" || word == "no" || word == "false");
}

// Of two statements with one plain number each.
bool is_lower(const std::string& left, const std::string& right) {
    return std::pair(left.size(), left) < std::pair(right.size(), right);
}

// Of "USER:PASSWORD@HOST/KEY": "***@HOST/***".
std::string shown_host(std::string_view text) {
    const size_t end = std::min(text.find_first_of("/?#"), text.size());
    const std::string_view host = text.substr(0, end);
    const size_t user = host.rfind('@');
    if (user == std::string_view::npos && text.find('@') != std::string_view::npos) {
        return "***";  // a password with a '/', or a key with an '@'
    }
    return fmt::format("{}{}{}", user == std::string_view::npos ? "" : "***@",
                       user == std::string_view::npos ? host : host.substr(user + 1),
                       end < text.size() ? "/***" : "");
}

}  // namespace

std::string shown_word(std::string_view word) {
    const size_t scheme = word.find("://");
    const size_t equal = word.find('=');
    if (equal < word.find_first_of("/?#@:")) {  // "app=live", "playpath=KEY"
        const std::string_view name = word.substr(0, equal);
        return fmt::format("{}={}", name,
                           name == "app" ? shown_host(word.substr(equal + 1)) : "***");
    }
    if (scheme == std::string_view::npos || scheme > word.find('/')) {
        return shown_host(word);
    }
    return fmt::format("{}{}", word.substr(0, scheme + 3), shown_host(word.substr(scheme + 3)));
}

std::string shown_statement(const Statement& statement) {
    const std::string& name = statement.name.text;
    std::string shown = name;
    if (hides_words(statement) && !statement.arguments.empty()) {
        return shown + " (secret)";
    }
    for (const Token& token : statement.arguments) {
        const size_t query = token.text.find('?');
        const bool url = token.text.find("://") != std::string::npos;
        shown += ' ';
        shown += hides_paths(name) ? shown_word(token.text)
                 : url && query != std::string::npos
                     ? redacted_url(token.text.substr(0, query)) + "?***"
                     : redacted_url(token.text);
    }
    return shown;
}

const Directive* directive_of(std::string_view key) {
    Context context = kGlobalContext;
    std::string rest(key);
    if (rest.starts_with("vhost.")) {
        rest = rest.substr(6);
        context = kVhostContext;
    }
    for (;;) {
        const size_t dot = rest.find('.');
        const Directive* directive = find_directive(rest.substr(0, dot), context);
        if (dot == std::string::npos || directive == nullptr) {
            return directive;
        }
        context = directive->opens;
        rest = rest.substr(dot + 1);
    }
}

std::string network_text(std::string_view word) {
    if (word == "all") {
        return "all";
    }
    const std::optional<IpNetwork> network = IpNetwork::parse(word);
    const std::string text = network ? network->to_string() : std::string();
    // An address of IPv4 inside one of IPv6 is another one there.
    const bool other =
        (text.find(':') == std::string::npos) != (word.find(':') == std::string_view::npos);
    return other ? std::string() : text;
}

const ForeignDirective* Explainer::find(std::string_view name) const {
    const auto found = std::ranges::find_if(
        table_, [&](const ForeignDirective& each) { return fits(each.name, name); });
    return found == table_.end() ? nullptr : &*found;
}

std::string Explainer::place_of(const Statement& statement) const {
    return fmt::format("{}:{}", log::escaped(file_), statement.name.at.line);
}

void Explainer::say(const Statement& statement, std::string_view what) {
    text_ += fmt::format("{}: {}{}: {}\n", place_of(statement),
                         log::escaped(around_ + shown_statement(statement), kMaxShown),
                         statement.has_block ? " { }" : "", what);
}

std::string Explainer::found_text(const Statement& statement, std::string_view why) const {
    return fmt::format("{}: {}{}: {}", place_of(statement),
                       log::escaped(around_ + shown_statement(statement), kMaxShown),
                       statement.has_block ? " { }" : "", why);
}

void Explainer::decide(const Statement& statement, std::string_view why) {
    say(statement, fmt::format("TO DECIDE: {}", why));
    output_.decide(found_text(statement, why));
}

void Explainer::lose(const Statement& statement, std::string_view why) {
    say(statement, fmt::format("LOST: {}", why));
    output_.lose(found_text(statement, why));
}

void Explainer::become(const Statement& statement,
                       const Place& place,
                       const Written& written,
                       bool restricts) {
    const std::string& shown = written.shown.empty() ? written.line : written.shown;
    has_secrets_ = has_secrets_ || !written.shown.empty();
    output_.at(place).add({written.line, shown, place_of(statement), restricts});
    const bool inner = !place.empty() && place.back().find(' ') == std::string::npos;
    say(statement,
        fmt::format("becomes {}{}{}{}", inner ? place.back() + " { " : "", shown, inner ? " }" : "",
                    written.note.empty() ? "" : fmt::format(" ({})", written.note)));
}

void Explainer::put(const Place& place, std::string line) {
    put_line(place, {line, line, log::escaped(file_), true});
}

void Explainer::put_line(const Place& place, const OutLine& line) {
    output_.at(place).add(line);
}

void Explainer::put_secret(const Place& place, OutLine line) {
    output_.at(place).lines.push_back(std::move(line));
    has_secrets_ = true;
}

void Explainer::explain_one(const Statement& statement,
                            const std::string& name,
                            const Place& place) {
    const ForeignDirective* found = find(name);
    if (found == nullptr && statement.has_block) {
        return;  // its inside is told
    }
    if (found == nullptr) {
        decide(statement, "not known to this program: if it restricted access, do the same here.");
        return;
    }
    const std::string note(found->note);
    const Directive* here = found->here.empty() ? nullptr : directive_of(found->here);
    const bool missing = !found->here.empty() && here == nullptr;
    if (found->fate == Fate::kLost && !is_switched_off(statement)) {
        lose(statement, note);
    }
    if (found->fate == Fate::kNone || found->fate == Fate::kLost || missing) {
        const std::string said = fmt::format("no counterpart{}{}", note.empty() ? "." : ". ", note);
        if (found->restricts) {
            decide(statement, said);
        } else if (found->fate != Fate::kLost) {
            say(statement, said);
        } else if (is_switched_off(statement)) {
            say(statement, "switched off there");
        }
        return;
    }
    if (here == nullptr) {
        say(statement, found->fate == Fate::kBuiltIn
                           ? fmt::format("needs no directive here. {}", note)
                           : note);
        return;
    }
    add(statement, *found, *here, place);
}

void Explainer::add(const Statement& statement,
                    const ForeignDirective& found,
                    const Directive& here,
                    Place place) {
    const Values values = found.convert != nullptr ? found.convert(statement) : keep(statement);
    if (values.empty() && found.restricts) {
        decide(statement, fmt::format("this value has no counterpart here. {}", found.note));
        return;
    }
    std::string path(found.here);
    if (path.starts_with("vhost.")) {
        path = path.substr(6);
    } else {
        place.clear();
    }
    for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.')) {
        place.push_back(path.substr(0, dot));
        path = path.substr(dot + 1);
    }
    std::string lines;
    for (const std::string& value : values) {
        const bool secret = here.secret_from != kNoSecret;
        const bool url = here.type == ValueType::kUrl;
        OutLine line{fmt::format("{} {};", here.name, value), "", place_of(statement),
                     found.restricts};
        line.shown = secret ? fmt::format("{} (secret);", here.name)
                     : url  ? shown_statement(statement) + ";"
                            : line.text;
        has_secrets_ = has_secrets_ || secret || url;
        std::vector<OutLine>& all = output_.at(place).lines;
        const auto same_name = [&](const OutLine& each) {
            return each.text.starts_with(std::string(here.name) + " ");
        };
        const auto old = std::ranges::find_if(all, same_name);
        const bool once = !here.repeatable && old != all.end();
        // Of two limits the lower one, else what stands last.
        const bool lower = once && here.name == "max_connections" && is_lower(old->text, line.text);
        if (once && !lower) {
            *old = line;
        } else if (!once && std::ranges::find(all, line.text, &OutLine::text) == all.end()) {
            all.push_back(line);
        }
        lines += (lines.empty() ? "" : " ") + line.shown;
    }
    const std::string where = directive_text(found.here);
    const size_t last = where.rfind(' ');
    const std::string blocks = last == std::string::npos ? "" : where.substr(0, last) + " { ";
    say(statement, fmt::format("{}{}{}{}{}",
                               values.empty()              ? "nothing to write here"
                               : found.fate == Fate::kSame ? "the same: "
                                                           : "becomes ",
                               values.empty() ? "" : blocks, lines,
                               values.empty() || blocks.empty() ? "" : " }",
                               found.note.empty() ? "" : fmt::format(" ({})", found.note)));
}

std::string Explainer::head() const {
    std::string out = fmt::format(
        "# From {}, by weir --explain. Check it with: weir -t -c FILE\n"
        "# Publishing is allowed from this machine only, where nothing else is written; to let\n"
        "# others publish: security {{ allow publish 192.168.0.0/16; }}\n",
        log::escaped(file_));
    if (has_secrets_) {
        out +=
            "# THIS FILE HOLDS SECRETS (passwords, addresses of hooks), in plain text: let nobody\n"
            "# else read it. They are hidden in the comments only.\n";
    }
    return out;
}

std::string Explainer::losses_text() const {
    const std::vector<std::string>& losses = output_.losses();
    if (losses.empty()) {
        return {};
    }
    std::string out = fmt::format(
        "LOST: {} in {} that the configuration below does not have:\n\n",
        losses.size() == 1 ? "one function" : fmt::format("{} functions", losses.size()),
        log::escaped(file_));
    for (const std::string& each : losses) {
        out += fmt::format("- {}\n", each);
    }
    return out + "\n";
}

std::string Explainer::decisions_text() const {
    const std::vector<std::string>& decisions = output_.decisions();
    if (decisions.empty()) {
        return "All that restricted access is taken over: nothing to decide.\n\n";
    }
    std::string out = fmt::format(
        "TO DECIDE: {} in {} restricted access, or might have, and nothing here does the "
        "same.\nThe configuration below is refused until you have written what you want, and "
        "removed each\nline `unresolved`:\n\n",
        decisions.size() == 1 ? "one thing" : fmt::format("{} things", decisions.size()),
        log::escaped(file_));
    for (const std::string& each : decisions) {
        out += fmt::format("- {}\n", each);
    }
    return out + "\n";
}

Explained Explainer::result(std::string_view kind, std::span<const std::string_view> differences) {
    output_.check();
    Explained done;
    done.decisions = output_.decisions();
    done.losses = output_.losses();
    done.text = losses_text() + decisions_text();
    done.text += fmt::format("{} is a configuration of {}. What its directives become here:\n\n",
                             log::escaped(file_), kind);
    done.text += text_;
    done.text += "\nWhat differs without being written:\n\n";
    for (const std::string_view each : differences) {
        done.text += fmt::format("- {}\n", each);
    }
    done.config = head() + output_.text();
    return done;
}

}  // namespace weir::config
