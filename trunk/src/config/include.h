// `include FILE;`: puts the statements of other files where the directive stands.
//
// In any block. A path starts at the folder of the file that it is written in; with *, ? or [ it
// names every file that matches, sorted, none included. What a file holds must be whole: blocks
// close where they open.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/config_parser.h"
#include "base/error.h"

namespace weir::config {

inline constexpr size_t kMaxIncludeDepth = 8;                        // files inside files
inline constexpr size_t kMaxIncludedFiles = 256;                     // of one configuration
inline constexpr size_t kMaxIncludedBytes = size_t{8} << 20;         // of all of them
inline constexpr size_t kMaxTotalStatements = kMaxConfigStatements;  // as of one file

// The disk, replaced in tests. Both may block.
struct ConfigDisk {
    // The text of a file; the error says why there is none.
    std::function<Result<std::string>(const std::string& path)> read;
    // The files that match the pattern, sorted.
    std::function<std::vector<std::string>(const std::string& pattern)> matching;
    // One name for one file: links and .. resolved.
    std::function<std::string(const std::string& path)> canonical;
};

const ConfigDisk& real_disk();

class Includer {
  public:
    // File 0 of the sink is `file`. All must outlive this.
    Includer(const ConfigDisk& disk, DiagnosticSink& sink, const std::string& file);

    // Replaces every include of the statements. Mistakes are reported, in whichever file they are.
    void expand(std::vector<Statement>& statements);

    // Files that were read or looked for, and patterns: what decides about the configuration.
    const std::vector<std::string>& watched() const { return watched_; }

  private:
    void expand_in(std::vector<Statement>& statements);
    std::vector<Statement> included(const Statement& statement);
    void read_one(const Statement& statement, const std::string& path, std::vector<Statement>& out);
    std::string path_of(const Statement& statement, const std::string& word) const;
    size_t count(const std::vector<Statement>& statements) const;

    const ConfigDisk& disk_;
    DiagnosticSink& sink_;
    std::vector<std::string> stack_;  // being read, outermost first; canonical
    std::vector<std::string> watched_;
    size_t files_ = 1;
    size_t bytes_ = 0;
    size_t statements_ = 0;
};

}  // namespace weir::config
