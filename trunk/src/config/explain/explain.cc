// What server a file is of, and the tables as a document.
#include "config/explain/explain.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/log.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "config/explain/explainer.h"
#include "config/explain/mediamtx.h"
#include "config/settings.h"

namespace weir::config {
namespace {

constexpr size_t kMaxRefusal = 400;  // bytes of one text

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
    const auto is_vhost = [](const Statement& each) { return each.name.text == "vhost"; };
    if (std::ranges::any_of(statements, is_vhost)) {
        return ForeignServer::kSrs;  // nginx has none, whatever else there is
    }
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

// False, with a report: it is no text in UTF-8.
bool check_encoding(std::string_view text, DiagnosticSink& sink) {
    if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") ||
        text.find('\0') != std::string_view::npos) {
        sink.report({0, 0, 0},
                    "found UTF-16 or no text at all, expected UTF-8: iconv -f UTF-16 -t UTF-8 "
                    "FILE makes it of UTF-16");
        return false;
    }
    Position at;
    while (!text.empty()) {
        const size_t size = utf8_size(text);
        if (size == 0) {
            sink.report(at,
                        "found bytes that are no UTF-8: iconv -f LATIN1 -t UTF-8 FILE makes it of "
                        "Latin-1");
            return false;
        }
        at.line += text.front() == '\n' ? 1U : 0U;
        at.column = text.front() == '\n' ? 1 : at.column + 1;
        text.remove_prefix(size);
    }
    return true;
}

bool is_yaml_name(std::string_view file) {
    return file.ends_with(".yml") || file.ends_with(".yaml");
}

// A file of a server that --explain does not read; empty: none that is known.
std::string_view other_server(std::string_view text) {
    text = trim(text.substr(0, 4096));
    if (text.starts_with("<?xml") || text.starts_with("<Server")) {
        return "XML, as of OvenMediaEngine: doc/migrating.md says what to write";
    }
    return {};
}

bool is_mtx_key(std::string_view key) {
    return key == "paths" || key == "pathDefaults" || is_mtx_server_key(key) ||
           is_mtx_access_key(key) ||
           std::ranges::any_of(mediamtx_directives(),
                               [&](const ForeignDirective& each) { return each.name == key; });
}

// A file in YAML.
Explained explain_yaml(std::string_view text,
                       std::string_view file_name,
                       bool is_mtx,
                       DiagnosticSink& sink) {
    Explained done;
    const std::optional<YamlNode> root = parse_yaml(text, sink);
    const bool is_map = root && root->kind == YamlNode::Kind::kMap;
    if (root && is_map && !is_mtx && root->find("streams") != nullptr) {
        sink.report({0, 0, 0},
                    "found a configuration as of go2rtc: doc/migrating.md says what to write");
    } else if (root && (!is_map || (!is_mtx && std::ranges::none_of(root->keys, is_mtx_key)))) {
        sink.report({0, 0, 0},
                    "found YAML that is no configuration of MediaMTX: none of its keys is there");
    }
    if (!sink.empty()) {
        done.errors = sink.take();
        return done;
    }
    return explain_mediamtx(*root, std::string(file_name));
}

std::string_view word_of(Fate fate) {
    switch (fate) {
        case Fate::kSame: return "the same";
        case Fate::kDiffers: return "differs";
        case Fate::kBuiltIn: return "needs none";
        case Fate::kNone: return "none";
        case Fate::kLost: return "lost";
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

std::string_view to_string(ForeignServer server) {
    switch (server) {
        case ForeignServer::kSrs: return "SRS";
        case ForeignServer::kNginxRtmp: return "nginx with its RTMP module";
        case ForeignServer::kMediaMtx: return "MediaMTX";
    }
    return {};
}

std::optional<ForeignServer> looks_foreign(const std::vector<Statement>& statements) {
    const std::set<std::string_view> nginx = {"rtmp", "events", "http", "worker_processes",
                                              "load_module"};
    const std::set<std::string_view> srs = {
        "srs_log_tank", "srs_log_file",        "srs_log_level", "srs_log_level_v2", "daemon",
        "heartbeat",    "inotify_auto_reload", "ff_log_dir",    "stream_caster",    "stats"};
    const std::set<std::string_view> srs_vhost = {"http_remux",  "rtc",       "http_static",
                                                  "bandcheck",   "refer",     "min_latency",
                                                  "tcp_nodelay", "transcode", "ingest"};
    for (const Statement& statement : statements) {
        if (nginx.contains(statement.name.text)) {
            return ForeignServer::kNginxRtmp;
        }
        const bool has_foreign = statement.name.text == "vhost" &&
                                 std::ranges::any_of(statement.block, [&](const Statement& each) {
                                     return srs_vhost.contains(each.name.text);
                                 });
        if (srs.contains(statement.name.text) || has_foreign) {
            return ForeignServer::kSrs;
        }
    }
    return std::nullopt;
}

std::optional<ForeignServer> foreign_server(std::string_view name) {
    if (name == "srs") {
        return ForeignServer::kSrs;
    }
    if (name == "nginx-rtmp" || name == "nginx") {
        return ForeignServer::kNginxRtmp;
    }
    if (name == "mediamtx") {
        return ForeignServer::kMediaMtx;
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
    if (const std::string_view other = other_server(text); !other.empty() && sink.empty()) {
        sink.report({0, 0, 0}, fmt::format("found {}", other));
    }
    if (!sink.empty() || !check_encoding(text, sink)) {
        done.errors = sink.take();
        return done;
    }
    if (server == ForeignServer::kMediaMtx || (!server && is_yaml_name(file_name))) {
        return explain_yaml(text, file_name, server.has_value(), sink);
    }
    const std::vector<Statement> statements =
        parse_statements(text.substr(0, kMaxConfigBytes), no_name, sink, {}, Dialect::kForeign);
    if (!server) {
        server = recognised(statements);
    }
    if (sink.empty() && !server) {
        sink.report({0, 0, 0},
                    "found a configuration neither of SRS nor of nginx with its RTMP module nor of "
                    "MediaMTX; --explain=srs, =nginx-rtmp or =mediamtx says which it is");
    }
    if (!sink.empty()) {
        done.errors = sink.take();
        return done;
    }
    const std::string file(file_name);
    return *server == ForeignServer::kSrs ? explain_srs(statements, file)
                                          : explain_nginx(statements, file);
}

std::string refused_config(std::string_view file_name, std::string_view why) {
    while (why.ends_with('\n')) {
        why.remove_suffix(1);
    }
    const std::string text =
        fmt::format("{} could not be explained: {}", log::escaped(file_name), log::escaped(why));
    return fmt::format("{} {};\n", kUnresolvedName, quoted_word(text.substr(0, kMaxRefusal)));
}

std::string migration_markdown() {
    return "## From SRS\n\n" + table(srs_directives(), srs_differences()) +
           "\n## From nginx with its RTMP module\n\n" +
           table(nginx_directives(), nginx_differences()) + "\n## From MediaMTX\n\n" +
           table(mediamtx_directives(), mediamtx_differences());
}

}  // namespace weir::config
