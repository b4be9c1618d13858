// A configuration of MediaMTX: what its parts share. Private to `weir --explain`.
//
// Its streams have paths of any depth, and what it says of a path holds for that one. Here settings
// are those of an application, the path without its last part: NAME alone becomes live/NAME.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/explain/explainer.h"
#include "config/explain/yaml.h"

namespace weir::config {

// The application of paths without one.
inline constexpr std::string_view kMtxApplication = "live";

// A key and its value as a statement, for what people are told: a list has its texts as words.
Statement statement_of(std::string_view key, uint32_t line, const YamlNode& value);

// Whether a value says yes ("yes", "true", "on"), in any case.
bool is_yes(std::string_view word);

// What a path of MediaMTX, which may be a regular expression, is here.
struct MtxName {
    enum class Kind : uint8_t {
        kStream,       // one
        kApplication,  // every one of an application
        kAll,          // every one
        kOther,        // nothing here says it
    };

    Kind kind = Kind::kOther;
    std::string app;
    std::string stream;
};

MtxName parse_mtx_name(std::string_view path);

// Lines of security { }.
struct MtxRules {
    std::vector<OutLine> lines;
    bool said = false;  // the file names who may do what

    // With those of an application in front.
    MtxRules with(const MtxRules& first) const;

    // With what refuses everybody else, where the file says who may.
    MtxRules closed() const;
};

struct MtxAccess {
    MtxRules all;
    std::map<std::string, MtxRules> apps;  // what holds for one application only
};

// authMethod and what belongs to it. Writes hooks and users of the API, and returns the rest.
MtxAccess explain_mtx_access(Explainer& out, const YamlNode& root);

// Servers and their ports: rtmp, rtsp, hls, webrtc, srt, api.
void explain_mtx_servers(Explainer& out, const YamlNode& root);

// paths and pathDefaults, with security { } of all of them.
void explain_mtx_paths(Explainer& out, const YamlNode& root, const MtxAccess& access);

// Whether one of these parts looks at a key of the file itself.
bool is_mtx_server_key(std::string_view key);
bool is_mtx_access_key(std::string_view key);

// "1935", "127.0.0.1:1935", "[::1]:1935" of ":1935" and the like.
std::string mtx_address(std::string_view text);
std::string mtx_port(std::string_view text);

Explained explain_mediamtx(const YamlNode& root, std::string file);

}  // namespace weir::config
