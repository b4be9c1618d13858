// What the explainers of SRS (explain_srs_walk.cc) and of nginx (explain_nginx_walk.cc) share: they
// walk through the statements of a foreign file, tell what becomes of each, and write a
// configuration. Private to `weir --explain`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/directives.h"
#include "config/explain/convert.h"
#include "config/explain/explain.h"
#include "config/explain/output.h"

namespace weir::config {

// For old servers that had no API, or had it off.
inline constexpr std::string_view kApiOff = "enabled off;   # on: the API is on 127.0.0.1:1985";

// A line of the result, and what people are told.
struct Written {
    std::string line;   // "forward rtmp://h/live/key;"
    std::string shown;  // without secrets; empty: the line has none
    std::string note;   // a sentence or two; empty: none
};

class Explainer {
  public:
    Explainer(std::span<const ForeignDirective> table, std::string file)
        : table_(table), file_(std::move(file)) {}

    // Heads of the blocks in which something is written: {} for the top level, {"vhost a"}.
    using Place = std::vector<std::string>;

    const ForeignDirective* find(std::string_view name) const;

    // One line of the explanation. `name`: with the blocks around it, for people.
    void say(const Statement& statement, std::string_view what);

    // Says it, and counts it as a loss: the result does not have this function.
    void lose(const Statement& statement, std::string_view why);

    // The same of something that stands in no line.
    void lose(std::string_view what) { output_.lose(std::string(what)); }

    // Says it, and lets the operator decide: something restricted access, or might have, and
    // nothing here does the same.
    void decide(const Statement& statement, std::string_view why);

    // The same of something that stands in no line.
    void decide(std::string_view what) { output_.decide(std::string(what)); }

    // A directive of the table, by its full name. Nothing happens for an unknown block.
    void explain_one(const Statement& statement, const std::string& name, const Place& place);

    // Writes a line that stands in no file.
    void put(const Place& place, std::string line);

    // The same of one that comes from somewhere.
    void put_line(const Place& place, const OutLine& line);

    // The same of one with a secret.
    void put_secret(const Place& place, OutLine line);

    // Writes the line of a function, from that statement. If `shown` is not empty, the line may
    // hold secrets and `shown` stands for it in comments. Says what it became, with `note`.
    // `restricts`: as of ForeignDirective.
    void become(const Statement& statement,
                const Place& place,
                const Written& written,
                bool restricts = false);

    // The result holds a secret.
    void note_secret() { has_secrets_ = true; }

    std::string place_of(const Statement& statement) const;

    ExplainOutput& output() { return output_; }

    Explained result(std::string_view kind, std::span<const std::string_view> differences);

    std::string around_;  // names of the blocks around, for people

  private:
    std::string found_text(const Statement& statement, std::string_view why) const;
    std::string losses_text() const;
    std::string decisions_text() const;
    void add(const Statement& statement,
             const ForeignDirective& found,
             const Directive& here,
             Place place);
    std::string head() const;

    std::span<const ForeignDirective> table_;
    std::string file_;
    std::string text_;
    ExplainOutput output_;
    bool has_secrets_ = false;
};

// A statement as people may see it: without passwords, and of addresses the host only, as keys
// stand in paths and queries.
std::string shown_statement(const Statement& statement);

// A word that says where to go, cut behind the host: "rtmp://***@host/***", "host/***"; of
// NAME=VALUE the name only, but for app.
std::string shown_word(std::string_view word);

// Whether the table here has the key; nullptr: no.
const Directive* directive_of(std::string_view key);

// "all", an address or ADDRESS/BITS in the form of our rules; empty: it is none of these.
std::string network_text(std::string_view word);

Explained explain_srs(const std::vector<Statement>& statements, std::string file);
Explained explain_nginx(const std::vector<Statement>& statements, std::string file);

}  // namespace weir::config
