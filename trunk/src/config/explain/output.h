// The configuration that `weir --explain` writes: lines in blocks, and what the operator has to
// decide. Private to the explainers.
//
// A line that the check of this server refuses never becomes a comment that nobody reads: if it
// restricted access in the old server it is something to decide (it fails closed), else a loss.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

struct OutLine {
    std::string text;   // "deny play all;"; holds secrets where the directive needs them
    std::string shown;  // the same for people, without secrets
    std::string from;   // "srs.conf:3"
    bool restricts = false;
};

struct OutBlock {
    std::string head;  // "play", "vhost a.example"; empty: the file
    std::vector<OutLine> lines;
    std::vector<OutBlock> blocks;
    std::map<std::string, size_t, std::less<>> by_head;  // of `blocks`
    std::set<std::string, std::less<>> added;            // texts of add()

    // The block with that head, made where there is none. Valid until the next block is made
    // beside it.
    OutBlock& inner(std::string_view head);

    // Adds a line, unless add() has added the same text before.
    void add(OutLine line);
};

class ExplainOutput {
  public:
    // Those of the file.
    OutBlock& top() { return top_; }

    // The block below heads, made where there is none: {"vhost a.example", "security"}.
    OutBlock& at(const std::vector<std::string>& heads);

    // Something that the operator has to decide: one sentence, without secrets.
    void decide(std::string text);

    // A function that the result does not have: one sentence, without secrets.
    void lose(std::string text);

    // Takes lines that this server refuses out, until the rest is good but for what has to be
    // decided. Once, at the end.
    void check();

    const std::vector<std::string>& decisions() const { return decisions_; }

    const std::vector<std::string>& losses() const { return losses_; }

    // `unresolved` lines first, then the rest.
    std::string text() const;

  private:
    struct Written;

    void write(const OutBlock& block, size_t depth, std::vector<Written>& out) const;
    bool drop_refused(std::vector<Written>& lines);

    OutBlock top_;
    std::vector<std::string> decisions_;
    std::vector<std::string> losses_;
    std::string checked_;
};

}  // namespace weir::config
