// `weir --explain FILE`: reads a configuration of SRS, of nginx with its RTMP module or of
// MediaMTX, says for each directive what it becomes here, and writes a configuration of Weir that
// comes next to it.
//
// The knowledge is in tables (srs.cc, nginx.cc, mediamtx.cc), from which doc/migrating.md is
// made as well. Pure: the file is a text, files that it includes are not read.
//
// It fails closed: nothing that the old server refused is let in by the result. What restricted
// access and cannot be written here becomes a line `unresolved`, with which the result is refused.
// It loses nothing silently: a function of the old server that the result does not have is in
// Explained::losses, which head the text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_diagnostic.h"
#include "base/config_parser.h"

namespace weir::config {

enum class ForeignServer : uint8_t { kSrs, kNginxRtmp, kMediaMtx };

// "srs", "nginx-rtmp", "mediamtx"; none for other words.
std::optional<ForeignServer> foreign_server(std::string_view name);

enum class Fate : uint8_t {
    kSame,     // the same word, or another one with the same meaning
    kDiffers,  // something close; the note says what is not the same
    kBuiltIn,  // needs no directive here
    kNone,     // there is nothing of the kind, and nobody misses it
    kLost,     // a function that the result does not have
};

// Statements of Weir, as words behind the name of the directive. Empty: this value needs none.
using Convert = std::vector<std::string> (*)(const Statement& statement);

struct ForeignDirective {
    std::string_view name;  // with the blocks around it: "vhost.play.gop_cache"; "*.x" in any block
    Fate fate = Fate::kNone;
    std::string_view here;      // the key of our table (Setting::key); empty: none
    std::string_view note;      // for people; one sentence or two
    Convert convert = nullptr;  // null: the values as they are
    // It restricted access: what of it has no counterpart, the operator has to decide.
    bool restricts = false;
    // kLost: the name that a directive of ours would have. A test fails once there is one, since
    // the note is wrong then.
    std::string_view lacks = {};
};

std::span<const ForeignDirective> srs_directives();
std::span<const ForeignDirective> nginx_directives();
// Keys of a path and of pathDefaults are "paths.KEY".
std::span<const ForeignDirective> mediamtx_directives();

// What differs although no file says so; a sentence each.
std::span<const std::string_view> srs_differences();
std::span<const std::string_view> nginx_differences();
std::span<const std::string_view> mediamtx_differences();

struct Explained {
    std::vector<Diagnostic> errors;  // the file is broken, or of no known server
    std::string text;                // losses first, then line by line; empty after errors
    // What `weir -t` accepts, or refuses until each of `decisions` is settled.
    std::string config;
    std::vector<std::string> decisions;  // what restricted access and has no counterpart
    std::vector<std::string> losses;     // functions that the result does not have
};

// `server`: none finds it out.
Explained explain(std::string_view text,
                  std::string_view file_name,
                  std::optional<ForeignServer> server);

// A configuration that is refused: what stands in the place of the result where there is none, so
// that no empty file is taken for one. `why`: a line or more, for people.
std::string refused_config(std::string_view file_name, std::string_view why);

// Whose configuration that is, by directives that only they have; none: perhaps ours.
std::optional<ForeignServer> looks_foreign(const std::vector<Statement>& statements);

// "SRS", "nginx with its RTMP module", "MediaMTX".
std::string_view to_string(ForeignServer server);

// The generated part of doc/migrating.md: the tables.
std::string migration_markdown();

}  // namespace weir::config
