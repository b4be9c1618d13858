#include "config/include.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <glob.h>

#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "config/directives.h"

namespace weir::config {
namespace {

Result<std::string> read_text(const std::string& path) {
    FilePointer file(std::fopen(path.c_str(), "re"));
    if (!file) {
        return make_error(ErrorCode::kSystem, "cannot be opened: {}", std::strerror(errno));
    }
    std::string text(kMaxConfigBytes + 1, '\0');  // one byte more tells that it is too large
    text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    if (std::ferror(file.get()) != 0) {
        return make_error(ErrorCode::kSystem, "cannot be read: {}", std::strerror(errno));
    }
    if (text.size() > kMaxConfigBytes) {
        return make_error(ErrorCode::kLimit,
                          "found more than {} bytes, which is more than a configuration may have",
                          kMaxConfigBytes);
    }
    return text;
}

std::vector<std::string> matching_files(const std::string& pattern) {
    std::vector<std::string> files;
    glob_t found{};
    if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && i <= kMaxIncludedFiles; i++) {
            files.emplace_back(found.gl_pathv[i]);
        }
    }
    globfree(&found);
    std::ranges::sort(files);  // by bytes: the same everywhere
    return files;
}

std::string canonical_path(const std::string& path) {
    std::error_code failed;
    const std::filesystem::path resolved = std::filesystem::weakly_canonical(path, failed);
    return failed ? path : resolved.string();
}

bool is_pattern(std::string_view word) {
    return word.find_first_of("*?[") != std::string_view::npos;
}

}  // namespace

const ConfigDisk& real_disk() {
    static const ConfigDisk disk{read_text, matching_files, canonical_path};
    return disk;
}

Includer::Includer(const ConfigDisk& disk, DiagnosticSink& sink, const std::string& file)
    : disk_(disk), sink_(sink) {
    stack_.push_back(disk_.canonical ? disk_.canonical(file) : file);
    watched_.push_back(file);
}

void Includer::expand(std::vector<Statement>& statements) {
    statements_ = count(statements);
    expand_in(statements);
}

size_t Includer::count(const std::vector<Statement>& statements) const {
    size_t sum = statements.size();
    for (const Statement& statement : statements) {
        sum += count(statement.block);
    }
    return sum;
}

// Not deeper than kMaxIncludeDepth files of kMaxConfigDepth blocks each.
void Includer::expand_in(std::vector<Statement>& statements) {
    std::vector<Statement> expanded;
    for (Statement& statement : statements) {
        if (statement.name.quoted || statement.name.text != kIncludeName) {
            expand_in(statement.block);
            expanded.push_back(std::move(statement));
            continue;
        }
        for (Statement& each : included(statement)) {
            expanded.push_back(std::move(each));
        }
    }
    statements = std::move(expanded);
}

std::string Includer::path_of(const Statement& statement, const std::string& word) const {
    const std::filesystem::path path(word);
    if (path.is_absolute()) {
        return word;
    }
    const std::filesystem::path folder =
        std::filesystem::path(sink_.file(statement.name.at.file)).parent_path();
    return (folder / path).lexically_normal().string();
}

std::vector<Statement> Includer::included(const Statement& statement) {
    std::vector<Statement> all;
    if (statement.has_block) {
        sink_.report(statement.end,
                     "found '{', but include takes no block; expected the path of a "
                     "file");
        return all;
    }
    if (statement.arguments.size() != 1) {
        if (!statement.broken) {
            sink_.report(statement.arguments.empty() ? statement.end : statement.arguments[1].at,
                         fmt::format("found {} for include, expected the path of one file, or a "
                                     "pattern as in conf.d/*.conf",
                                     statement.arguments.empty() ? "no value" : "several values"));
        }
        return all;
    }
    const Token& word = statement.arguments[0];
    if (word.broken || statement.broken) {
        return all;
    }
    if (!disk_.read) {
        sink_.report(statement.name.at, "found include, but this text may not include files");
        return all;
    }
    if (word.text.empty()) {
        sink_.report(word.at, fmt::format("found {}, expected the path of a file", word.shown()));
        return all;
    }
    if (stack_.size() > kMaxIncludeDepth) {
        sink_.report(statement.name.at,
                     fmt::format("found files included deeper than {}", kMaxIncludeDepth));
        return all;
    }
    const std::string path = path_of(statement, word.text);
    watched_.push_back(path);
    if (!is_pattern(word.text)) {
        read_one(statement, path, all);
        return all;
    }
    for (const std::string& each : disk_.matching(path)) {
        watched_.push_back(each);
        read_one(statement, each, all);
    }
    return all;
}

void Includer::read_one(const Statement& statement,
                        const std::string& path,
                        std::vector<Statement>& out) {
    const Position at = statement.arguments[0].at;
    const std::string name = disk_.canonical(path);
    const std::string shown = log::escaped(path);
    if (const auto begin = std::ranges::find(stack_, name); begin != stack_.end()) {
        sink_.report(at, fmt::format("found {}, which includes itself: {} -> {}", shown,
                                     join(std::span(begin, stack_.end()), " -> "), name));
        return;
    }
    if (++files_ > kMaxIncludedFiles) {
        if (files_ == kMaxIncludedFiles + 1) {
            sink_.report(at, fmt::format("found more than {} files; the rest is not read",
                                         kMaxIncludedFiles));
        }
        return;
    }
    Result<std::string> text = disk_.read(path);
    if (!text.ok()) {
        sink_.report(at, fmt::format("{}: {}{}", shown, text.error().message(),
                                     text.error().code() == ErrorCode::kSystem
                                         ? "; correct the path, or take the include out"
                                         : ""));
        return;
    }
    bytes_ += text->size();
    if (bytes_ > kMaxIncludedBytes) {
        sink_.report(
            at, fmt::format("found more than {} bytes in all included files", kMaxIncludedBytes));
        files_ = kMaxIncludedFiles + 1;  // nothing more
        return;
    }
    stack_.push_back(name);
    const uint16_t number = sink_.add_file(path);
    std::vector<Statement> statements =
        parse_statements(*text, is_directive_name, sink_, Position{1, 1, number},
                         Dialect::kOurs, is_secret_name);
    statements_ += count(statements);
    if (statements_ > kMaxTotalStatements) {
        sink_.report(at, fmt::format("found more than {} directives in all files together",
                                     kMaxTotalStatements));
        files_ = kMaxIncludedFiles + 1;
        stack_.pop_back();
        return;
    }
    expand_in(statements);
    stack_.pop_back();
    for (Statement& each : statements) {
        out.push_back(std::move(each));
    }
}

}  // namespace weir::config
