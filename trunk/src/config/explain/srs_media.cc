#include "config/explain/srs_media.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "config/explain/srs_engine.h"
#include "config/explain/translate.h"

namespace weir::config {
namespace {

using Statements = std::vector<Statement>;
using Place = std::vector<std::string>;

constexpr std::string_view kDefault = "__defaultVhost__";
constexpr double kFragment = 10;  // seconds; defaults there
constexpr double kWindow = 60;
constexpr double kDuration = 30;

bool is_on(const Statements& block) {
    return word_of(block, "enabled") == "on";
}

Place inner(const Place& place, const char* block) {
    Place all = place;
    all.emplace_back(block);
    return all;
}

void put(Explainer& out,
         const Statement& statement,
         const Place& place,
         std::string line,
         std::string note = {}) {
    out.become(statement, place, {std::move(line), {}, std::move(note)});
}

// A path with variables in two: the folder that is the same for all, and the pattern of the names
// within it, in ours.
struct FilePattern {
    std::string folder;
    std::string name;
};

// One part of a path: names of streams stay as variables of ours, parts of a time go, with the dots
// and dashes around them.
std::string name_part(std::string_view part) {
    std::string out;
    while (!part.empty()) {
        const size_t close = part.front() == '[' ? part.find(']') : std::string_view::npos;
        if (close == std::string_view::npos) {
            out += part.front();
            part.remove_prefix(1);
            continue;
        }
        const std::string_view word = part.substr(1, close - 1);
        part.remove_prefix(close + 1);
        if (word == "vhost" || word == "app" || word == "stream") {
            out += fmt::format("{{{}}}", word);
        }
    }
    constexpr std::string_view kBetween = ".-_ ";
    const size_t first = out.find_first_not_of(kBetween);
    const size_t last = out.find_last_not_of(kBetween);
    return first == std::string::npos ? "" : out.substr(first, last - first + 1);
}

FilePattern file_pattern(std::string path) {
    for (const std::string_view end : {".flv", ".mp4"}) {
        if (path.ends_with(end)) {
            path.erase(path.size() - end.size());
        }
    }
    const size_t variable = path.find('[');
    if (variable == std::string::npos) {
        return {path, "{app}/{stream}/{time}"};
    }
    const size_t slash = path.rfind('/', variable);
    FilePattern out;
    out.folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    bool ends_with_name = false;
    const std::string names = path.substr(slash == std::string::npos ? 0 : slash + 1);
    for (const std::string_view part : split(names, '/')) {
        const std::string name = name_part(part);
        ends_with_name = !name.empty();
        out.name += out.name.empty() || name.empty() ? name : "/" + name;
    }
    out.name += out.name.empty() ? "{time}" : ends_with_name ? "-{time}" : "/{time}";
    return out;
}

void explain_dvr(Explainer& out, const Statement& dvr, const SrsVhost& vhost) {
    const Place place = inner(vhost.place, "record");
    const std::string path = word_of(dvr.block, "dvr_path", "./objs/nginx/html");
    const std::string apply = word_of(dvr.block, "dvr_apply", "all");
    const FilePattern pattern = file_pattern(path);
    if (apply == "all") {
        put(out, dvr, place, "enabled on;");
    } else {
        put(out, dvr, place, "enabled off;", "POST /api/v1/recordings begins one");
        out.lose(dvr,
                 "only some streams were recorded: write record in an application of theirs, or "
                 "begin each by POST /api/v1/recordings.");
    }
    put(out, dvr, place, fmt::format("path {};", quoted_word(pattern.folder)),
        "a folder that exists");
    put(out, dvr, place, path.ends_with(".mp4") ? "format mp4;" : "format flv;",
        "mp4 plays while it grows, and by HLS");
    put(out, dvr, place, fmt::format("name \"{}\";", pattern.name));
    if (word_of(dvr.block, "dvr_plan", "session") == "segment") {
        const double length = seconds_of(word_of(dvr.block, "dvr_duration")).value_or(kDuration);
        put(out, dvr, place, fmt::format("split {};", seconds_text(length)));
    }
}

void explain_forward(Explainer& out, const Statement& forward, const SrsVhost& vhost) {
    for (const Statement& each : forward.block) {
        if (each.name.text == "backend") {
            out.explain_one(each, "vhost.forward.backend", vhost.place);
        }
        for (const std::string& host : words_of(each)) {
            if (each.name.text != "destination") {
                continue;
            }
            if (is_host(host)) {
                out.become(each, vhost.place,
                           forward_line(fmt::format("rtmp://{}/[app]/[stream]", host), {}));
            } else {
                out.lose(each, "the address of the other server cannot be read: forward URL;");
            }
        }
    }
}

void explain_hls(Explainer& out, const Statement& hls, const SrsVhost& vhost) {
    const Place place = inner(vhost.place, "hls");
    if (!is_on(hls.block)) {
        put(out, hls, place, "enabled off;");
        return;
    }
    put(out, hls, place, "enabled on;");
    const double wanted = seconds_of(word_of(hls.block, "hls_fragment")).value_or(kFragment);
    const double fragment = std::clamp(wanted, 1.0, 60.0);
    const double window = seconds_of(word_of(hls.block, "hls_window")).value_or(kWindow);
    put(out, hls, place, fmt::format("fragment {};", seconds_text(fragment)), "cut at key frames");
    put(out, hls, place, fmt::format("window {};", window_text(fragment, window)));
    for (const Statement& each : hls.block) {
        const std::string& name = each.name.text;
        const std::string word = first_word(each);
        if (name == "enabled" || name == "hls_fragment" || name == "hls_window") {
            continue;
        }
        if (name == "hls_path") {
            put(out, each, place, fmt::format("path {};", quoted_word(word)),
                "players get it from memory, also without a folder");
        } else if (name == "hls_m3u8_file" && word != "[app]/[stream].m3u8") {
            out.lose(each, "players find the stream at /APP/STREAM.m3u8 and nowhere else.");
        } else if (name == "hls_keys" || name == "hls_use_fmp4") {
            const bool on = word == "on";
            put(out, each, place,
                name == "hls_keys" ? (on ? "encrypt on;" : "encrypt off;")
                                   : (on ? "container fmp4;" : "container ts;"));
        } else if (name == "hls_fragments_per_key") {
            put(out, each, place, fmt::format("rotate {};", quoted_word(word)));
        } else {
            out.explain_one(each, "vhost.hls." + name, place);
        }
    }
}

std::string address_of(const SrsVhost& vhost, const char* path) {
    return fmt::format("rtmp://127.0.0.1:{}/{}{}", vhost.port, path,
                       vhost.name == kDefault ? "" : "?vhost=" + vhost.name);
}

// Of an engine's output, with the copies' vhost in place of its own.
Substituted output_of(const std::string& output, const std::string& engine, const SrsVhost& vhost) {
    const Variable variables[] = {
        {"vhost", vhost.name}, {"port", vhost.port}, {"app", "$app"},
        {"stream", "$name"},   {"engine", engine},
    };
    Substituted done = substitute(output, variables, VariableForm::kBracket);
    if (done.unknown.empty() && is_own_address(done.text)) {
        done.text = done.text.substr(0, done.text.find('?'));
        done.text += "?vhost=" + srs_copies_vhost(vhost.name);
    }
    return done;
}

void explain_transcode(Explainer& out, const Statement& transcode, SrsVhost& vhost) {
    const std::string scope = first_word(transcode);
    if (scope.find('/') != std::string::npos) {
        out.lose(transcode,
                 "one stream alone was transcoded: exec_push runs beside each stream of its "
                 "application, so publish that one in an application of its own.");
        return;
    }
    Place place = vhost.place;
    if (!scope.empty()) {
        place.push_back("application " + quoted_word(scope));
    }
    const std::string program = word_of(transcode.block, "ffmpeg", "ffmpeg");
    for (const Statement& engine : transcode.block) {
        if (engine.name.text != "engine" || !is_on(engine.block)) {
            continue;
        }
        const std::string name = first_word(engine);
        const Substituted output = output_of(word_of(engine.block, "output"), name, vhost);
        if (!output.unknown.empty() || output.text.empty()) {
            out.lose(engine, "its output cannot be read: write exec_push.");
            continue;
        }
        out.become(engine, place,
                   exec_line(srs_engine_words(program, engine.block,
                                              address_of(vhost, "$app/$name"), output.text)));
        if (is_own_address(output.text)) {
            vhost.copies = true;
            out.lose(engine,
                     fmt::format("players find the copies at /APP/STREAM{}?vhost={} and not where "
                                 "they were: in the same vhost exec_push would copy the copies.",
                                 name.empty() ? "" : "_" + name, srs_copies_vhost(vhost.name)));
        }
    }
}

bool is_source_url(std::string_view url) {
    for (const std::string_view scheme :
         {"rtmp://", "rtmps://", "rtsp://", "rtsps://", "srt://", "udp://", "rtp://"}) {
        if (url.starts_with(scheme)) {
            return true;
        }
    }
    const bool http = url.starts_with("http://") || url.starts_with("https://");
    return http && url.find(".flv") != std::string_view::npos;
}

void explain_ingest(Explainer& out, const Statement& ingest, const SrsVhost& vhost) {
    const Statement* input = child_of(ingest.block, "input");
    const std::string type = input != nullptr ? word_of(input->block, "type") : "";
    const std::string url = input != nullptr ? word_of(input->block, "url") : "";
    if (type != "stream" || !is_source_url(url)) {
        out.lose(ingest,
                 "source brings streams of RTMP, HTTP-FLV, RTSP, SRT and groups; let a service run "
                 "ffmpeg, and publish this one with it.");
        return;
    }
    for (const Statement& engine : ingest.block) {
        if (engine.name.text != "engine") {
            continue;
        }
        if (is_on(engine.block) && srs_engine_transcodes(engine.block)) {
            out.lose(ingest,
                     "source brings a stream as it is: transcode it with exec_push beside it, or "
                     "let a service run ffmpeg and publish with it.");
            continue;
        }
        std::string name = word_of(engine.block, "output");
        name = name.substr(0, name.find('?'));
        const size_t host = name.find("://");
        const size_t path = name.find('/', host == std::string::npos ? 0 : host + 3);
        name = path == std::string::npos ? "" : name.substr(path + 1);
        if (name.find('/') == std::string::npos || name.find('[') != std::string::npos) {
            out.lose(engine, "its output names no stream: source URL { stream APP/STREAM; }");
            continue;
        }
        const Statement* options = child_of(engine.block, "perfile");
        const std::string transport =
            options != nullptr ? word_of(options->block, "rtsp_transport") : "";
        out.become(ingest, vhost.place,
                   source_line(url, name, transport == "tcp" ? "transport tcp;" : "",
                               "without a program"));
    }
}

void explain_exec(Explainer& out, const Statement& exec, const SrsVhost& vhost) {
    const std::string url = address_of(vhost, "$app/$name");
    const Variable variables[] = {
        {"vhost", vhost.name},
        {"port", vhost.port},
        {"app", "$app"},
        {"stream", "$name"},
        {"engine", ""},
        {"url", url},
        {"tcUrl", ""},
        {"swfUrl", ""},
        {"pageUrl", ""},
        {"timestamp", ""},
        {"2006", ""},
        {"01", ""},
        {"02", ""},
        {"15", ""},
        {"04", ""},
        {"05", ""},
        {"999", ""},
    };
    for (const Statement& each : exec.block) {
        if (each.name.text != "publish") {
            continue;
        }
        std::vector<std::string> words;
        std::string unknown;
        for (const std::string& word : words_of(each)) {
            const Substituted done = substitute(word, variables, VariableForm::kBracket);
            unknown = done.unknown.empty() ? unknown : done.unknown;
            words.push_back(done.text);
        }
        if (!unknown.empty() || words.empty()) {
            out.lose(each, fmt::format("[{}] is not known: exec_push has $app, $name and $vhost.",
                                       unknown));
            continue;
        }
        out.become(each, vhost.place, exec_line(words));
    }
}

}  // namespace

std::string srs_copies_vhost(const std::string& vhost) {
    return vhost == kDefault ? "transcoded" : "transcoded." + vhost;
}

bool explain_srs_media(Explainer& out,
                       const Statement& statement,
                       std::string_view full,
                       SrsVhost& vhost) {
    if (full == "vhost.dvr") {
        explain_dvr(out, statement, vhost);
    } else if (full == "vhost.forward") {
        explain_forward(out, statement, vhost);
    } else if (full == "vhost.hls") {
        explain_hls(out, statement, vhost);
    } else if (full == "vhost.transcode") {
        explain_transcode(out, statement, vhost);
    } else if (full == "vhost.ingest") {
        explain_ingest(out, statement, vhost);
    } else if (full == "vhost.exec") {
        explain_exec(out, statement, vhost);
    } else if (full == "vhost.cluster") {
        explain_srs_edge(out, statement, statement.block, vhost);
    } else {
        return false;
    }
    return true;
}

void explain_srs_edge(Explainer& out,
                      const Statement& where,
                      const Statements& block,
                      const SrsVhost& vhost) {
    if (word_of(block, "origin_cluster") == "on") {
        out.lose(where,
                 "its servers told each other which of them has a stream: cluster { } does, with "
                 "Redis (doc/cluster.md).");
    }
    if (word_of(block, "mode") != "remote") {
        return;
    }
    const std::string other = word_of(block, "vhost");
    if (!other.empty() && other != "[vhost]" && other != vhost.name) {
        out.lose(where, "origin asks for the same vhost, not for another one of the other server.");
        return;
    }
    const Statement* origin = child_of(block, "origin");
    const std::vector<std::string> hosts =
        origin != nullptr ? words_of(*origin) : std::vector<std::string>();
    for (const std::string& host : hosts) {
        if (!is_host(host)) {
            out.lose(*origin, "the address of the origin cannot be read: origin URL;");
            continue;
        }
        put(out, *origin, vhost.place, fmt::format("origin rtmp://{};", host));
        if (host == hosts.front()) {
            out.become(*origin, vhost.place,
                       forward_line(fmt::format("rtmp://{}/[app]/[stream]", host),
                                    "what is published at this edge goes on, as there"));
        }
    }
    if (word_of(block, "token_traverse") == "on") {
        out.decide(where,
                   "the origin was asked for each player; here it is asked once for a stream, so "
                   "write its rules here as well.");
    }
}

void explain_srs_caster(Explainer& out, const Statement& statement, const Place& place) {
    const std::string caster = word_of(statement.block, "caster");
    const std::string listen = word_of(statement.block, "listen");
    std::string name = word_of(statement.block, "output");
    const size_t path = name.find('/', name.find("://") == std::string::npos ? 0 : 7);
    name = path == std::string::npos ? "" : name.substr(path + 1);
    const bool udp = caster == "mpegts_over_udp";
    if (caster == "rtsp") {
        put(out, statement, {"rtsp_server"}, fmt::format("listen 0.0.0.0:{};", listen),
            "streams keep the names that they are published with");
    } else if (udp && !place.empty() && name.find('/') != std::string::npos &&
               name.find('[') == std::string::npos) {
        out.become(statement, place,
                   source_line("udp://0.0.0.0:" + listen, name, {}, "without a program"));
    } else {
        out.lose(statement, udp ? "its output names no stream: source udp://0.0.0.0:PORT { stream "
                                  "APP/STREAM; } brings one."
                                : "only RTMP, RTSP, SRT and WebRTC publish here.");
    }
}

}  // namespace weir::config
