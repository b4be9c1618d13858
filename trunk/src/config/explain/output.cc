#include "config/explain/output.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/config_parser.h"
#include "base/log.h"
#include "config/config.h"
#include "config/directives.h"

namespace weir::config {
namespace {

constexpr size_t kMaxAttempts = 20;    // of taking lines out, up to kMaxDiagnostics at a time
constexpr size_t kMaxDecision = 400;   // bytes of one text
constexpr size_t kMaxDecisions = 200;  // more are not listed; so of losses

void add_once(std::vector<std::string>& all, std::string text) {
    if (all.size() > kMaxDecisions || std::ranges::find(all, text) != all.end()) {
        return;
    }
    all.push_back(all.size() == kMaxDecisions
                      ? "there is more of this kind; begin with a smaller file."
                      : std::move(text));
}

}  // namespace

// A line of the file, and what it comes from; null: a head or a '}'.
struct ExplainOutput::Written {
    std::string text;
    const OutLine* line = nullptr;
};

OutBlock& OutBlock::inner(std::string_view wanted) {
    const auto found = by_head.find(wanted);
    if (found != by_head.end()) {
        return blocks[found->second];
    }
    by_head.emplace(wanted, blocks.size());
    OutBlock& made = blocks.emplace_back();
    made.head = wanted;
    return made;
}

void OutBlock::add(OutLine line) {
    if (added.insert(line.text).second) {
        lines.push_back(std::move(line));
    }
}

OutBlock& ExplainOutput::at(const std::vector<std::string>& heads) {
    OutBlock* block = &top_;
    for (const std::string& head : heads) {
        block = &block->inner(head);
    }
    return *block;
}

void ExplainOutput::decide(std::string text) {
    add_once(decisions_, std::move(text));
}

void ExplainOutput::lose(std::string text) {
    add_once(losses_, std::move(text));
}

void ExplainOutput::write(const OutBlock& block, size_t depth, std::vector<Written>& out) const {
    const std::string indent(4 * depth, ' ');
    for (const OutLine& line : block.lines) {
        out.push_back({indent + line.text, &line});
    }
    for (const OutBlock& each : block.blocks) {
        out.push_back({fmt::format("{}{} {{", indent, each.head), nullptr});
        write(each, depth + 1, out);
        out.push_back({indent + "}", nullptr});
    }
}

// False: there was nothing to take out.
bool ExplainOutput::drop_refused(std::vector<Written>& lines) {
    std::string text;
    for (const Written& each : lines) {
        text += each.text + "\n";
    }
    const ParseOutcome outcome = parse_config(text, "");
    bool dropped = false;
    for (const Diagnostic& error : outcome.errors) {
        if (error.line == 0 || error.line > lines.size()) {
            continue;
        }
        Written& refused = lines[error.line - 1];
        if (refused.line == nullptr) {
            continue;  // a block: it cannot go alone
        }
        const OutLine& line = *refused.line;
        // A message shows what it found.
        const std::string why = line.shown == line.text
                                    ? log::escaped(error.message)
                                    : "weir -t says why when it stands in a file";
        std::string said = fmt::format("{}: \"{}\" is not possible here: {}.", line.from,
                                       log::escaped(line.shown), why);
        if (line.restricts) {
            decide(std::move(said));
        } else {
            lose(std::move(said));
        }
        refused.text =
            fmt::format("# {}   # cannot be taken over: {}", log::escaped(line.shown), why);
        refused.line = nullptr;
        dropped = true;
    }
    if (!outcome.ok() && !dropped) {
        decide(fmt::format("the rest could not be taken over: {}",
                           log::escaped(outcome.errors.front().message)));
        lines.clear();
    }
    return dropped;
}

void ExplainOutput::check() {
    std::vector<Written> lines;
    write(top_, 0, lines);
    if (lines.size() > kMaxConfigStatements) {
        decide(
            fmt::format("the result would have more than {} lines, which no configuration may "
                        "have: begin with a smaller file.",
                        kMaxConfigStatements));
        lines.clear();
    }
    size_t attempts = 0;
    while (drop_refused(lines)) {
        if (++attempts == kMaxAttempts) {
            decide("too many lines could not be taken over.");
            lines.clear();
        }
    }
    for (const Written& each : lines) {
        checked_ += each.text + "\n";
    }
}

std::string ExplainOutput::text() const {
    std::string out;
    for (const std::string& each : decisions_) {
        out += fmt::format("{} {};\n", kUnresolvedName, quoted_word(each.substr(0, kMaxDecision)));
    }
    return out + checked_;
}

}  // namespace weir::config
