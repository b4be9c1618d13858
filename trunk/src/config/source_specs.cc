#include "config/source_specs.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/stream_path.h"
#include "base/strings.h"
#include "config/asked_sources.h"
#include "config/command_words.h"
#include "config/named_stream.h"
#include "proto/http/target.h"
#include "proto/rtmp/stream_name.h"

namespace weir::config {
namespace {

constexpr std::string_view kAppVariable = "[app]";
constexpr std::string_view kStreamVariable = "[stream]";

size_t parts_of(std::string_view path) {
    size_t parts = path.empty() ? 0 : 1;
    for (const char c : path) {
        parts += c == '/' ? 1 : 0;
    }
    return parts;
}

bool names_stream(const net::SourceUrl& url) {
    return url.path.find(kStreamVariable) != std::string::npos ||
           url.query.find(kStreamVariable) != std::string::npos;
}

// What is put behind the URL: the address of the stream without that of its section.
std::string below(const VhostConfig& section, const stream::StreamKey& key) {
    std::string_view app = key.app;
    app.remove_prefix(std::min(app.size(), section.application.size()));
    while (app.starts_with('/')) {
        app.remove_prefix(1);
    }
    return app.empty() ? key.name : fmt::format("{}/{}", app, key.name);
}

// Such a URL goes into a request: what is put there has to be encoded.
bool is_encoded(const net::SourceUrl& url) {
    return url.is_http() || url.is_rtsp() || url.is_whep();
}

// A name as a part of the path or query of that URL.
std::string part_of(const net::SourceUrl& url, std::string_view name) {
    return is_encoded(url) ? http::percent_encoded(name) : std::string(name);
}

// With the variables of the URL of a WHEP source, as parts of an address.
std::string with_names(std::string text, const stream::StreamKey& key) {
    return replaced(replaced(std::move(text), kAppVariable, http::percent_encoded(key.app)),
                    kStreamVariable, http::percent_encoded(key.name));
}

// False: a name could be read as more than a name in that query, where nothing encodes it.
bool fits_query(const net::SourceUrl& url, const stream::StreamKey& key) {
    const std::string_view special = url.has_stream_id() ? ",{}?&=:" : url.is_srt() ? "" : "?&";
    const auto bad = [&](std::string_view variable, std::string_view name) {
        return url.query.find(variable) != std::string::npos &&
               name.find_first_of(special) != std::string_view::npos;
    };
    return is_encoded(url) || (!bad(kAppVariable, key.app) && !bad(kStreamVariable, key.name));
}

// False: names in the path would be a query, of a peer's choice.
bool is_path(const net::SourceUrl& url) {
    return is_encoded(url) || url.path.find('?') == std::string::npos;
}

// `exec_push` of a stream.
void add_commands(const VhostConfig& section,
                  const stream::StreamKey& key,
                  std::vector<net::SourceSpec>& list) {
    for (const std::vector<std::string>& words : section.commands) {
        std::optional<std::vector<std::string>> command = command_of(words, key);
        if (!command) {
            log::warn(
                "stream={}: {} is not run, as its name has characters that a program could take "
                "for more than a name",
                log::token(key.to_string()), words[0]);
            continue;
        }
        net::SourceSpec spec;
        spec.role = net::SourceRole::kForward;
        spec.key = key;
        spec.url.scheme = "exec";
        spec.url.path = join(*command, "\n");  // tells it from others
        spec.shown = fmt::format("exec {}", (*command)[0]);
        spec.command = std::move(*command);
        spec.on_demand = true;  // while somebody publishes
        spec.linger = Millis(0);
        list.push_back(std::move(spec));
    }
}

// The query of a forward, which nobody decodes again where it is that of RTMP.
std::string query_with_names(const net::SourceUrl& url, const stream::StreamKey& key) {
    return url.is_srt() || is_encoded(url)
               ? with_names(url.query, key)
               : replaced(replaced(url.query, kAppVariable, key.app), kStreamVariable, key.name);
}

net::SourceSpec pull_of(const SourceConfig& source, stream::StreamKey key) {
    net::SourceSpec spec;
    spec.key = std::move(key);
    spec.url = source.url;
    if (source.url.is_whep()) {
        spec.url.path = with_names(spec.url.path, spec.key);
        spec.url.query = with_names(spec.url.query, spec.key);
    }
    spec.named = !source.stream.empty();
    spec.on_demand = source.on_demand.value_or(!spec.named);
    spec.linger = source.linger;
    spec.transport = source.transport.value_or(net::SourceTransport::kAuto);
    spec.tls_verify = source.tls_verify.value_or(true);
    return spec;
}

void add_named(const VhostConfig& section, std::vector<net::SourceSpec>& list) {
    if (!section.enabled) {
        return;
    }
    for (const SourceConfig& source : section.sources) {
        // What a vhost says is in its applications as well.
        if (!source.stream.empty() &&
            (section.application.empty() || section.application == source.app ||
             source.app.starts_with(section.application + "/"))) {
            list.push_back(named_source(section.name, source));
        }
    }
}

bool is_playlist(std::string_view path) {
    constexpr std::string_view kEnds[] = {".m3u8", ".m3u", ".mpd"};
    return std::ranges::any_of(
        kEnds, [name = to_lower(path)](std::string_view end) { return name.ends_with(end); });
}

}  // namespace

std::string complete_source(const VhostConfig& section, SourceConfig& source) {
    if (source.url.is_http() && is_playlist(source.url.path)) {
        return "found a source that is a playlist (HLS or DASH), which is not read; expected the "
               "address of an FLV stream, as in http://HOST/APP/STREAM.flv. A program can bring a "
               "playlist: ffmpeg -re -i URL -c copy -f flv rtmp://127.0.0.1/APP/STREAM";
    }
    if (source.transport && !source.url.is_rtsp()) {
        return "found transport for a URL without a choice of it; expected it with rtsp:// and "
               "rtsps:// only";
    }
    if (source.tls_verify && !source.url.tls()) {
        return "found tls_verify for a URL without TLS; expected it with rtmps://, https://, "
               "rtsps:// and whep+https:// only";
    }
    if (source.stream.empty() && source.url.is_group()) {  // it is one stream, not any
        source.stream = fmt::format("{}-{}", replaced(source.url.host, ":", "."), source.url.port);
    }
    if (source.stream.empty()) {
        if (!source.on_demand.value_or(true)) {
            return "found a source of any stream with on_demand off, which is not possible; "
                   "expected the name of the stream, as in { stream NAME; }";
        }
        if (source.url.is_whep()) {
            return names_stream(source.url)
                       ? ""
                       : "found a source by WHEP of any stream; expected [stream] in the URL where "
                         "its name belongs, or the name of one stream here, as in { stream NAME; }";
        }
        if (source.url.has_stream_id()) {
            return "found a source of any stream whose URL has a streamid; expected "
                   "srt://HOST[:PORT]/APP, or the name of one stream here, as in { stream NAME; }";
        }
        const bool has_apps = !source.url.is_http() && !source.url.is_rtsp();
        if (!section.application.empty() && has_apps && source.url.path.empty()) {
            return "found a source without the application of the other server; expected "
                   "rtmp://HOST/APP";
        }
        return {};
    }
    rtmp::StreamName name;
    if (Error wrong = rtmp::parse_path(section.application, source.stream, name)) {
        return fmt::format("found no name of a stream in source ({}); expected {}", wrong.message(),
                           section.application.empty() ? "stream APP/STREAM" : "stream STREAM");
    }
    source.app = std::move(name.app);
    source.stream = std::move(name.stream);
    const bool is_http = source.url.is_http() || source.url.is_whep();
    const bool has_own = source.url.is_rtsp() || source.url.has_stream_id();
    const size_t least = has_own ? 0 : is_http ? 1 : 2;
    if (!source.url.is_group() && parts_of(source.url.path) < least) {
        return fmt::format("found a source whose URL names no stream; expected {}",
                           source.url.is_whep()   ? "whep+http://HOST/PATH"
                           : source.url.is_http() ? "http://HOST/PATH.flv"
                                                  : "rtmp://HOST/APP/STREAM");
    }
    return {};
}

net::SourceSpec named_source(const std::string& vhost, const SourceConfig& source) {
    net::SourceSpec spec = pull_of(source, {vhost, source.app, source.stream});
    spec.shown = spec.url.shown();
    return spec;
}

std::vector<net::SourceSpec> named_sources(const Config& config) {
    std::vector<net::SourceSpec> list;
    for (const VhostConfig& vhost : config.vhosts) {
        add_named(vhost, list);
        for (const VhostConfig& application : vhost.applications) {
            add_named(application, list);
        }
    }
    return list;
}

net::SourceSpec relay_of(const Config& config, const stream::StreamKey& key) {
    net::SourceSpec spec;
    spec.key = key;
    spec.url.scheme = "relay";
    spec.shown = "relay";
    spec.relayed = true;
    spec.on_demand = true;
    spec.linger = config.cluster.relay_linger;
    spec.input_timeout = config.cluster.relay_input_timeout;
    return spec;
}

std::optional<net::SourceSpec> source_for(const Config& config, const stream::StreamKey& key) {
    const VhostConfig* const section = config.find_settings(key.vhost, key.app);
    if (section == nullptr || section->name != key.vhost ||
        check_stream_path(fmt::format("{}/{}", key.app, key.name))) {
        return std::nullopt;
    }
    if (Result<net::SourceSpec> asked = asked_source(*section, key); asked.ok()) {
        return std::move(*asked);
    }
    for (const SourceConfig& source : section->sources) {
        if (!source.stream.empty()) {
            continue;
        }
        net::SourceSpec spec = pull_of(source, key);
        if (!spec.url.is_whep()) {
            spec.url.append(part_of(spec.url, below(*section, key)));
        }
        if (!is_path(spec.url)) {
            return std::nullopt;
        }
        if (spec.url.is_http()) {
            spec.url.path += ".flv";
        }
        spec.shown = spec.url.shown();
        return spec;
    }
    if (section->origins.empty() && !(config.cluster.enabled && !config.cluster.registry.empty())) {
        return std::nullopt;
    }
    return relay_of(config, key);
}

std::vector<net::SourceSpec> forwards_of(const Config& config, const stream::StreamKey& key) {
    std::vector<net::SourceSpec> list;
    const VhostConfig* const section = config.find_settings(key.vhost, key.app);
    if (section == nullptr || section->name != key.vhost) {
        return list;
    }
    for (const net::SourceUrl& url : section->forwards) {
        net::SourceSpec spec;
        spec.role = net::SourceRole::kForward;
        spec.key = key;
        spec.url = url;
        spec.on_demand = true;  // while somebody publishes
        spec.linger = Millis(0);
        const bool names_stream = parts_of(url.path) > 1 || url.has_stream_id();
        spec.url.path = replaced(replaced(url.path, kAppVariable, part_of(url, key.app)),
                                 kStreamVariable, part_of(url, key.name));
        spec.url.query = query_with_names(url, key);
        if (!names_stream) {
            spec.url.append(part_of(url, key.name));
        }
        const bool secret =
            names_stream && !url.has_stream_id() && url.path.find('[') == std::string::npos;
        if (!fits_query(url, key) || !is_path(spec.url)) {
            log::warn(
                "stream={} is not forwarded to {}: its name has characters that would be more than "
                "a name there (of , {{ }} ? & = :)",
                log::token(key.to_string()), secret ? url.shown_target() : url.shown());
            continue;
        }
        spec.shown = secret ? spec.url.shown_target() : spec.url.shown();
        list.push_back(std::move(spec));
    }
    add_commands(*section, key, list);
    for (const GroupOutConfig& out : section->group_outs) {
        if (out.app == key.app && out.stream == key.name) {
            net::SourceSpec spec;
            spec.role = net::SourceRole::kForward;
            spec.key = key;
            spec.url = out.url;
            spec.shown = spec.url.shown();
            spec.on_demand = true;  // while somebody publishes
            spec.linger = Millis(0);
            list.push_back(std::move(spec));
        }
    }
    return list;
}

}  // namespace weir::config
