#include "app/config/explain.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "app/config/config.h"
#include "app/config/directives.h"
#include "app/config/explain_convert.h"
#include "app/config/settings.h"
#include "base/log.h"
#include "base/strings.h"

namespace weir::app {
namespace {

constexpr size_t kMaxShown = 60;      // of a foreign value
constexpr size_t kMaxAttempts = 200;  // of taking lines out of the result

// What the result says, in the shape in which it is written.
struct InnerBlock;

struct Block {
    std::vector<std::string> lines;
    std::vector<InnerBlock> blocks;

    Block& inner(const std::string& name);
    void write(std::string& out, size_t depth) const;
};

struct InnerBlock {
    std::string name;  // "play", "vhost a.example"
    Block block;
};

Block& Block::inner(const std::string& name) {
    for (InnerBlock& each : blocks) {
        if (each.name == name) {
            return each.block;
        }
    }
    blocks.push_back({name, Block()});
    return blocks.back().block;
}

void Block::write(std::string& out, size_t depth) const {
    const std::string indent(4 * depth, ' ');
    for (const std::string& line : lines) {
        out += fmt::format("{}{}\n", indent, line);
    }
    for (const auto& [name, block] : blocks) {
        out += fmt::format("{}{} {{\n", indent, name);
        block.write(out, depth + 1);
        out += indent + "}\n";
    }
}

// Whether the table here has it: other versions may have more or less.
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

bool is_secret(std::string_view name) {
    return name.find("pass") != std::string_view::npos ||
           name.find("secret") != std::string_view::npos ||
           name.find("token") != std::string_view::npos;
}

bool fits(std::string_view pattern, std::string_view name) {
    if (pattern.ends_with('*')) {
        pattern.remove_suffix(1);
        return name.starts_with(pattern) && name.size() > pattern.size();
    }
    return pattern == name;
}

class Explainer {
  public:
    Explainer(ForeignServer server, std::string_view file)
        : srs_(server == ForeignServer::kSrs), file_(file) {}

    Explained run(const std::vector<Statement>& statements) {
        walk(statements, "", "");
        Explained done;
        done.text = fmt::format("{} is a configuration of {}. What its directives become here:\n\n",
                                file_, srs_ ? "SRS" : "nginx with its RTMP module");
        done.text += text_;
        done.text += "\nWhat differs without being written:\n\n";
        for (const std::string_view each : srs_ ? srs_differences() : nginx_differences()) {
            done.text += fmt::format("- {}\n", each);
        }
        done.config = config_text();
        return done;
    }

  private:
    const ForeignDirective* find(const std::string& path) const {
        const auto table = srs_ ? srs_directives() : nginx_directives();
        const auto found = std::ranges::find_if(
            table, [&](const ForeignDirective& each) { return fits(each.name, path); });
        return found == table.end() ? nullptr : &*found;
    }

    void say(const Statement& statement, std::string_view what) {
        std::string shown = around_ + statement.name.text;
        for (const Token& token : statement.arguments) {
            shown += " " + (is_secret(statement.name.text) ? "(secret)" : token.text);
        }
        text_ +=
            fmt::format("{}:{}: {}{}: {}\n", file_, statement.name.at.line,
                        log::escaped(shown, kMaxShown), statement.has_block ? " { }" : "", what);
    }

    // `path`: of the blocks around, with a dot behind it; `vhost`: the section, where there is one.
    void walk(const std::vector<Statement>& statements,
              const std::string& path,
              const std::string& vhost) {
        for (const Statement& statement : statements) {
            const std::string name = path + statement.name.text;
            if (srs_ && name == "vhost") {
                walk_vhost(statement);
                continue;
            }
            if (!srs_ && name == "application") {
                application_ = first_word(statement);
            }
            if (srs_ && is_switched_off(statement)) {
                say(statement, "switched off there, and left out");
                continue;
            }
            explain_one(statement, name, vhost);
            const bool inside =
                statement.has_block && !(!srs_ && path.empty() && statement.name.text == "http");
            if (inside && !is_whole(name)) {
                const std::string outer = around_;
                around_ += srs_ ? statement.name.text + " " : "";
                walk(statement.block, srs_ ? name + "." : "", vhost);
                around_ = outer;
            } else if (statement.has_block) {
                look_for_rtmp(statement.block);
            }
            if (!srs_ && name == "application") {
                application_.clear();
            }
        }
    }

    // Blocks that open ports of TLS are off in SRS unless they say otherwise, and here a line is
    // enough.
    static bool is_switched_off(const Statement& statement) {
        if (!statement.has_block ||
            (statement.name.text != "https" && statement.name.text != "rtmps")) {
            return false;
        }
        return std::ranges::none_of(statement.block, [](const Statement& each) {
            return each.name.text == "enabled" && flag(each) == Values{"on"};
        });
    }

    void walk_vhost(const Statement& statement) {
        std::string section = first_word(statement);
        section = section == kDefaultVhost ? section : to_lower(section);
        const std::string head = "vhost " + quoted_word(section);
        if (statement.arguments.size() != 1 || !parse_config(head + " { }", "").ok()) {
            say(statement,
                "no counterpart. A vhost has one name of letters, digits, '.', '-', '_'");
            return;
        }
        say(statement, "the same: vhost NAME { }");
        (void)result_.inner(head);
        walk(statement.block, "vhost.", section);
    }

    // nginx has rules by application, and Weir by vhost: those of the first one are taken over.
    bool is_of_another_application(const ForeignDirective& found) {
        if (srs_ || application_.empty() || !found.here.starts_with("vhost.")) {
            return false;
        }
        if (first_application_.empty()) {
            first_application_ = application_;
        }
        return first_application_ != application_;
    }

    // A block of which one line says all there is to say.
    bool is_whole(const std::string& name) const {
        const ForeignDirective* all = srs_ ? find(name + ".?") : nullptr;
        return all != nullptr && all->fate == Fate::kNone && all->name == name + ".*" &&
               !has_other(name + ".");
    }

    bool has_other(const std::string& prefix) const {
        return std::ranges::any_of(srs_directives(), [&](const ForeignDirective& each) {
            return each.name.starts_with(prefix) && each.name != prefix + "*";
        });
    }

    // In nginx's http { } only what belongs to the RTMP module is of interest.
    void look_for_rtmp(const std::vector<Statement>& statements) {
        for (const Statement& statement : statements) {
            if (!srs_ && statement.name.text.starts_with("rtmp_")) {
                explain_one(statement, statement.name.text, "");
            }
            if (!srs_) {
                look_for_rtmp(statement.block);
            }
        }
    }

    void explain_one(const Statement& statement,
                     const std::string& name,
                     const std::string& vhost) {
        const ForeignDirective* found =
            find(statement.name.text == kIncludeName ? std::string(kIncludeName) : name);
        if (found == nullptr && statement.has_block) {
            found = find(name + ".?");  // a block of which all is known in the same way
            if (found == nullptr || !is_whole(name)) {
                return;  // its inside is told
            }
        }
        if (found == nullptr) {
            say(statement, "not known here, and left out");
            return;
        }
        const std::string note(found->note);
        const Directive* here = found->here.empty() ? nullptr : directive_of(found->here);
        if (found->fate == Fate::kNone || (!found->here.empty() && here == nullptr)) {
            say(statement, fmt::format("no counterpart{}{}", note.empty() ? "." : ". ", note));
            return;
        }
        if (here == nullptr) {
            say(statement, found->fate == Fate::kBuiltIn
                               ? fmt::format("needs no directive here. {}", note)
                               : note);
            return;
        }
        if (is_of_another_application(*found)) {
            say(statement, fmt::format("not taken over: such things are per vhost here, not per "
                                       "application, and those of application {} are written",
                                       log::escaped(first_application_)));
            return;
        }
        add(statement, *found, *here, vhost);
    }

    void add(const Statement& statement,
             const ForeignDirective& found,
             const Directive& here,
             const std::string& vhost) {
        const Values values = found.convert != nullptr ? found.convert(statement) : keep(statement);
        std::string path(found.here);
        const bool is_rule = here.type == ValueType::kBlock;  // the key of a rule is its block
        const std::string name(is_rule ? statement.name.text : std::string(here.name));
        if (path.starts_with("vhost.")) {
            path = path.substr(6);
        }
        Block* block = &result_;
        if (found.here.starts_with("vhost.") && !vhost.empty()) {
            block = &block->inner("vhost " + quoted_word(vhost));
        }
        for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.')) {
            block = &block->inner(path.substr(0, dot));
            path = path.substr(dot + 1);
        }
        if (is_rule) {
            block = &block->inner(path);
        }
        std::string lines;
        for (const std::string& value : values) {
            const std::string line = fmt::format("{} {};", name, value);
            put(*block, here, line);
            lines += fmt::format("{}{}", lines.empty() ? "" : " ", line);
        }
        const std::string where = directive_text(found.here);
        const size_t last = where.rfind(' ');
        const std::string around = is_rule                     ? where + " { "
                                   : last == std::string::npos ? ""
                                                               : where.substr(0, last) + " { ";
        say(statement, fmt::format("{}{}{}{}{}",
                                   values.empty()              ? "nothing to write here"
                                   : found.fate == Fate::kSame ? "the same: "
                                                               : "becomes ",
                                   values.empty() ? "" : around, lines,
                                   values.empty() || around.empty() ? "" : " }",
                                   found.note.empty() ? "" : fmt::format(" ({})", found.note)));
    }

    // What may be given once is taken from where it stands last; what is the same twice, once.
    static void put(Block& block, const Directive& here, const std::string& line) {
        if (!here.repeatable && here.type != ValueType::kBlock) {
            std::erase_if(block.lines, [&](const std::string& each) {
                return each.starts_with(std::string(here.name) + " ");
            });
        }
        if (std::ranges::find(block.lines, line) == block.lines.end()) {
            block.lines.push_back(line);
        }
    }

    // A line that the check of this server refuses stands in a comment, with the reason.
    std::string config_text() const {
        std::string body;
        result_.write(body, 0);
        std::vector<std::string> lines;
        for (size_t at = 0; at < body.size();) {
            const size_t end = body.find('\n', at);
            lines.push_back(body.substr(at, end - at));
            at = end + 1;
        }
        for (size_t attempt = 0; attempt < kMaxAttempts; attempt++) {
            const ParseOutcome outcome =
                parse_config(fmt::format("{}\n", fmt::join(lines, "\n")), "");
            if (outcome.ok()) {
                return head() + fmt::format("{}\n", fmt::join(lines, "\n"));
            }
            for (const Diagnostic& error : outcome.errors) {
                if (error.line > 0 && error.line <= lines.size()) {
                    comment_out(lines[error.line - 1], error.message);
                }
            }
        }
        return head();
    }

    // A block that is refused goes by its first line, which leaves its '}' to the next attempt.
    static void comment_out(std::string& line, const std::string& why) {
        if (!line.starts_with('#')) {
            line = fmt::format("# {}   # cannot be taken over: {}", line, log::escaped(why));
        }
    }

    std::string head() const {
        return fmt::format(
            "# From {}, by weir --explain. Check it with: weir -t -c FILE\n"
            "# Publishing is allowed from this machine only; to let others publish:\n"
            "# security {{ allow publish 192.168.0.0/16; }}\n",
            log::escaped(file_));
    }

    bool srs_;
    std::string file_;
    std::string text_;
    std::string around_;             // names of the blocks around, for people
    std::string application_;        // of nginx, that is being read
    std::string first_application_;  // that has rules of its own
    Block result_;
};

bool no_name(std::string_view) {
    return false;
}

std::optional<ForeignServer> recognised(const std::vector<Statement>& statements) {
    const std::set<std::string_view> nginx = {"rtmp",        "events",           "http",
                                              "load_module", "worker_processes", "rtmp_auto_push"};
    const std::set<std::string_view> srs = {
        "srs_log_tank", "srs_log_file", "srs_log_level",   "vhost",         "http_api",
        "http_server",  "rtc_server",   "srt_server",      "stream_caster", "heartbeat",
        "daemon",       "listen",       "max_connections", "stats",         "exporter"};
    for (const Statement& statement : statements) {
        if (nginx.contains(statement.name.text)) {
            return ForeignServer::kNginxRtmp;
        }
    }
    for (const Statement& statement : statements) {
        if (srs.contains(statement.name.text)) {
            return ForeignServer::kSrs;
        }
    }
    return std::nullopt;
}

std::string_view word_of(Fate fate) {
    switch (fate) {
        case Fate::kSame: return "the same";
        case Fate::kDiffers: return "differs";
        case Fate::kBuiltIn: return "needs none";
        case Fate::kNone: return "none";
    }
    return {};
}

std::string table(std::span<const ForeignDirective> directives,
                  std::span<const std::string_view> differences) {
    std::string out = "| directive | here | | remarks |\n|---|---|---|---|\n";
    for (const ForeignDirective& each : directives) {
        std::string name(each.name);
        std::ranges::replace(name, '.', ' ');
        const bool known = !each.here.empty() && directive_of(each.here) != nullptr;
        const Fate fate = !each.here.empty() && !known ? Fate::kNone : each.fate;
        out += fmt::format("| `{}` | {} | {} | {} |\n", name,
                           known ? fmt::format("`{}`", directive_text(each.here)) : "",
                           word_of(fate), each.note);
    }
    out += "\nWhat differs without being written:\n\n";
    for (const std::string_view each : differences) {
        out += fmt::format("- {}\n", each);
    }
    return out;
}

}  // namespace

std::optional<ForeignServer> foreign_server(std::string_view name) {
    if (name == "srs") {
        return ForeignServer::kSrs;
    }
    if (name == "nginx-rtmp" || name == "nginx") {
        return ForeignServer::kNginxRtmp;
    }
    return std::nullopt;
}

Explained explain(std::string_view text,
                  std::string_view file_name,
                  std::optional<ForeignServer> server) {
    Explained done;
    DiagnosticSink sink(file_name);
    if (text.size() > kMaxConfigBytes) {
        sink.report({0, 0, 0}, fmt::format("found more than {} bytes", kMaxConfigBytes));
    }
    const std::vector<Statement> statements =
        parse_statements(text.substr(0, kMaxConfigBytes), no_name, sink);
    if (!server) {
        server = recognised(statements);
    }
    if (sink.empty() && !server) {
        sink.report({0, 0, 0},
                    "found a configuration neither of SRS nor of nginx with its RTMP module; "
                    "--explain=srs or --explain=nginx-rtmp says which it is");
    }
    if (!sink.empty()) {
        done.errors = sink.take();
        return done;
    }
    return Explainer(*server, file_name).run(statements);
}

std::string migration_markdown() {
    return "## From SRS\n\n" + table(srs_directives(), srs_differences()) +
           "\n## From nginx with its RTMP module\n\n" +
           table(nginx_directives(), nginx_differences());
}

}  // namespace weir::app
