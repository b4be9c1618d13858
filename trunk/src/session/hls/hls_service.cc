#include "session/hls/hls_service.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/hmac.h"
#include "base/random.h"
#include "base/strings.h"
#include "io/deadline.h"
#include "io/socket_address.h"
#include "net/fanout.h"
#include "net/hooks.h"
#include "net/http_newcomer.h"
#include "net/limits.h"
#include "net/placement.h"
#include "net/private_streams.h"
#include "proto/http/access_token.h"
#include "proto/http/target.h"
#include "session/hls/hls_ask.h"
#include "stream/registry.h"

namespace weir::session {
namespace {

// Where earlier versions sent players of DASH, which stay there during an upgrade.
constexpr std::string_view kOldDescriptionName = "index.mpd";
constexpr size_t kMaxNameSize = 1024;  // of app and of name, as in RTMP
constexpr size_t kSessionIdSize = 20;  // 100 bits: it lets in

// "/app/stream" to both; false when one is empty or too long.
bool split_name(std::string_view path, std::string_view& app, std::string_view& name) {
    const size_t slash = path.rfind('/');
    if (slash == std::string_view::npos || slash == 0) {
        return false;
    }
    app = path.substr(1, slash - 1);
    name = path.substr(slash + 1);
    return !app.empty() && !name.empty() && app.size() <= kMaxNameSize &&
           name.size() <= kMaxNameSize;
}

// "/app/stream.hls/file", "/app/stream.hls/2/file", "/app/stream.hls/2/audio/file".
struct FolderPath {
    std::string_view folder;  // without ".hls"; empty: it is none of ours
    size_t variant = 0;
    hls::TrackName rendition = {};
    std::string_view file;
};

// What is behind the last slash of `path`.
std::string_view last_of(std::string_view path) {
    const size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
}

FolderPath parse_folder_path(std::string_view path) {
    const size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) {
        return {};
    }
    FolderPath out{.folder = path.substr(0, slash), .file = path.substr(slash + 1)};
    out.rendition = hls::parse_track_name(last_of(out.folder));
    if (out.rendition.track != hls::FileTrack::kAll) {
        out.folder.remove_suffix(last_of(out.folder).size() + 1);
    }
    const std::string_view last = last_of(out.folder);
    if (last.size() == 1 && last[0] >= '1' && last[0] <= '9') {
        out.variant = static_cast<size_t>(last[0] - '0');
        out.folder.remove_suffix(2);
    }
    if (!out.folder.ends_with(kFolderSuffix)) {
        return {};
    }
    out.folder.remove_suffix(kFolderSuffix.size());
    return out;
}

// All groups have the same members (RFC 8216 §4.3.4.1.1): those of the stream itself, `first`,
// whose addresses are behind `home`. In a quality that does not have one of them, the default track
// stands in, as its files do. `folder`: of the quality, which has audio.
void make_alike(const hls::Variant& first,
                std::string_view home,
                std::string_view folder,
                hls::Variant& variant) {
    std::vector<hls::Rendition> audio;
    for (const hls::Rendition& wanted : first.audio) {
        const std::string uri = fmt::format("{}{}", folder, wanted.uri.substr(home.size()));
        const auto found = std::ranges::find(variant.audio, uri, &hls::Rendition::uri);
        const hls::Rendition& has = found != variant.audio.end() ? *found : variant.audio.front();
        audio.push_back({.uri = uri,
                         .name = wanted.name,
                         .language = wanted.language,
                         .channels = has.channels});
    }
    variant.audio = std::move(audio);
}

bool is_session_id(std::string_view text) {
    return text.size() == kSessionIdSize && std::ranges::all_of(text, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
           });
}

// Of a player that does not stay where it is led.
std::string looks_of(const net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    const std::string text = fmt::format(
        "{}\n{}\n{}\n{}", exchange.peer().host(), request.headers.get("User-Agent").value_or(""),
        request.headers.get("Authorization").value_or(""), request.query_text);
    return std::string(as_text(sha256(as_bytes(text))));
}

}  // namespace

HlsService::HlsService(const net::Services& services,
                       const HlsRules& rules,
                       HlsFolders::MakeDisk make_disk,
                       io::MakeWorkers make_workers)
    : services_(services),
      rules_(rules),
      folders_([this](const HlsStoredView& stored) { on_stored(stored); },
               std::move(make_disk),
               std::move(make_workers)) {
    services_.registry.observers().add(*this);
}

HlsService::~HlsService() {
    services_.registry.observers().remove(*this);
}

void HlsService::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions options;
    options.cors = true;
    options.only_there = true;  // timeline, segments and sessions
    options.process_of = [this](net::Placement& placement, const http::Request& request) {
        std::string_view path = parse_folder_path(request.path).folder;
        for (const std::string_view suffix : {kListSuffix, kDescriptionSuffix}) {
            if (path.empty() && request.path.ends_with(suffix)) {
                path = std::string_view(request.path);
                path.remove_suffix(suffix.size());
            }
        }
        std::string_view app;
        std::string_view name;
        return split_name(path, app, name)
                   ? placement.better_process(
                         services_.policy.key_of(request.query.get_or("vhost", ""), app, name),
                         net::PlaceBy::kSession)
                   : std::nullopt;
    };
    router.add_predicate(
        [](const http::Request& request) {
            return !parse_folder_path(request.path).folder.empty();
        },
        options, [this](net::HttpExchange& exchange) { handle_file(exchange); });
    router.add_suffix(std::string(kListSuffix), options,
                      [this](net::HttpExchange& exchange) { handle_stream(exchange); });
    router.add_suffix(std::string(kDescriptionSuffix), options,
                      [this](net::HttpExchange& exchange) { handle_description(exchange); });
}

void HlsService::stop(io::Deadline deadline) {
    services_.fanout.for_each(HlsPump::kKind, [](net::StreamPump& pump) {
        static_cast<HlsPump&>(pump).end_all(net::EndClass::kStopping, "server stops");
        static_cast<HlsPump&>(pump).end_files();
    });
    folders_.stop(
        io::Deadline::at(std::min(deadline.time(), io::Deadline::after(kStopWait).time())));
}

// What is for one client alone is not written to disk.
std::unique_ptr<HlsPump> HlsService::make_pump(stream::Stream& stream,
                                               const HlsOptions& options,
                                               const net::PumpOptions& pump) {
    const bool is_private =
        services_.private_streams != nullptr && services_.private_streams->has(stream.key());
    HlsFolder* const folder =
        options.path.empty() || is_private ? nullptr : folders_.use(options.path);
    return std::make_unique<HlsPump>(stream, options, pump, numbers_, folder,
                                     [this, &stream] { return writes_here(stream); });
}

// Another process may have the publisher: then it writes, and this one has the stream for viewers.
bool HlsService::writes_here(const stream::Stream& stream) const {
    return services_.placement == nullptr || !stream.relayed() ||
           !services_.placement->better_process(stream.key(), net::PlaceBy::kSession);
}

void HlsService::on_stored(const HlsStoredView& stored) {
    services_.hooks.tell_segment({.vhost = stored.key.vhost,
                                  .app = stored.key.app,
                                  .stream = stored.key.name,
                                  .root = stored.root,
                                  .folder = stored.folder,
                                  .file = stored.file,
                                  .playlist = hls::kMediaPlaylistName,
                                  .duration = Millis(stored.duration_ms),
                                  .number = stored.number});
}

// Yields. What is the same for all, as a 404 is, may be kept for a moment: of many viewers behind a
// cache only one asks in vain.
void HlsService::refuse(net::HttpExchange& exchange,
                        int status,
                        std::string_view reason,
                        bool for_all) {
    stats_.refused++;
    http::Fields fields = {{"Cache-Control", status == 404 || for_all ? cache_for(1) : "no-store"}};
    if (status == 503) {
        fields.add("Retry-After", "5");
    }
    (void)exchange.respond_error(status, reason, fields);
}

void HlsService::refuse(net::HttpExchange& exchange, const Error& why) {
    switch (why.code()) {
        case ErrorCode::kDenied: refuse(exchange, 403, why.message()); return;
        case ErrorCode::kNotFound: refuse(exchange, 404, why.message()); return;
        case ErrorCode::kMalformed: refuse(exchange, 400, why.message()); return;
        default: refuse(exchange, 503, why.message()); return;
    }
}

bool HlsService::has_sessions(const stream::StreamKey& key, const HlsOptions& options) const {
    // Who may have a private stream is asked at admission alone.
    const bool is_private =
        services_.private_streams != nullptr && services_.private_streams->has(key);
    return options.sessions || is_private || services_.hooks.wants(net::HookAction::kPlay, key);
}

HlsPump* HlsService::find_pump(const stream::StreamKey& key) const {
    const stream::Stream* stream = services_.registry.find(key);
    return stream == nullptr
               ? nullptr
               : static_cast<HlsPump*>(services_.fanout.find(*stream, HlsPump::kKind));
}

// ---- who may ----

// Yields. The pump of a stream that has something to play, for somebody who was let in; null: the
// request has been answered.
HlsPump* HlsService::admit(net::HttpExchange& exchange, Ask& ask) {
    const http::Request& request = exchange.request();
    const std::optional<std::string_view> token = http::access_token(request);
    if (!token) {
        refuse(exchange, 400, "that is no token: Authorization: Bearer TOKEN");
        return nullptr;
    }
    const bool counted = has_sessions(ask.key, ask.options) && !request.is_head();
    const std::string url = net::url_of(request);
    net::NewcomerView who = net::newcomer_of(exchange, ask.key, *token, ask.transport(), url);
    who.may_wait = !request.is_head();
    who.begins = counted;
    Result<net::AdmittedPlayer> admitted = admission_.play(who);
    if (!admitted.ok()) {
        refuse(exchange, admitted.error());
        return nullptr;
    }
    HlsPump* const pump = pump_for(exchange, ask, admitted->rules);
    std::unique_ptr<net::Client> client = std::move(admitted->client);
    if (pump == nullptr) {
        if (client) {
            client->end_quietly(net::EndClass::kNoPublisher, "nobody publishes it");
        }
        return nullptr;
    }
    if (client) {
        client->encrypted = exchange.secure();
        net::begin_turn(*client, net::ClientRole::kPlayer, ask.key);
        const std::string told_by = ask.session_id.empty() ? "" : client->ip();
        if (ask.session_id.empty()) {
            ask.session_id = random_id(system_random(), kSessionIdSize);
        }
        auto place = services_.limits.enter(
            net::Share::kHlsSessions, exchange.peer(),
            {.of_one = HlsOptions::kMaxBegun, .places = HlsPump::kMaxSessions});
        if (!place.ok()) {
            refuse(exchange, 503, place.error().message());
            return nullptr;
        }
        client->hold(std::move(*place));
        ask.session = pump->add_session(ask.session_id, std::move(client));
        if (ask.session == nullptr) {
            refuse(exchange, 503, "this stream has too many viewers");
            return nullptr;
        }
        ask.session->only_from = told_by;
    }
    return pump;
}

// Yields. Null: there is nothing to play, and the request has been answered.
HlsPump* HlsService::pump_for(net::HttpExchange& exchange, Ask& ask, const net::PlayRules& rules) {
    Result<net::StreamPump*> found = services_.fanout.pump_for(
        ask.key, rules.stream, HlsPump::kKind,
        [&](stream::Stream& stream) { return make_pump(stream, ask.options, rules.pump); });
    if (!found.ok()) {
        refuse(exchange, found.error());
        return nullptr;
    }
    auto* const pump = static_cast<HlsPump*>(*found);
    pump->stream().note_new_player();
    const bool grows = ask.dash && pump->low_latency();
    if (const Error error = pump->wait_first(rules.pump.wait_publisher, grows)) {
        if (error.code() == ErrorCode::kInterrupted) {
            refuse(exchange, error);
        } else if (pump->frames_left_out() > 0) {
            refuse(exchange, 404, "HLS cannot carry the codecs of this stream");
        } else {
            refuse(exchange, 404, "no such stream: nobody publishes it");
        }
        return nullptr;
    }
    return pump;
}

// ---- variants ----

// The pump of another quality, made where there is none. Null: nobody publishes it, as far as is
// known, or it has no HLS. One that is published elsewhere is on its way then (may_come). Who may
// have the stream may have its variants.
HlsPump* HlsService::variant_pump(const Ask& ask, size_t variant) {
    if (variant > ask.options.variants.size()) {
        return nullptr;
    }
    const stream::StreamKey& key = ask.options.variants[variant - 1];
    const HlsOptions options = rules_.hls_options(key);
    if (!options.enabled) {
        return nullptr;
    }
    HlsPump* const found = find_pump(key);
    return found != nullptr || !may_come(key) ? found : own_pump(key, options);
}

// Whether somebody publishes it, or a source is about to bring it. Asking makes one begin.
bool HlsService::may_come(const stream::StreamKey& key) {
    const stream::Stream* const stream = services_.registry.find(key);
    return (stream != nullptr && stream->live()) || services_.registry.want(key);
}

// One that nobody has asked for. Null: it cannot be made.
HlsPump* HlsService::own_pump(const stream::StreamKey& key, const HlsOptions& options) {
    const net::PlayRules rules = services_.policy.rules_of_forward(key);
    Result<net::StreamPump*> made = services_.fanout.pump_for(
        key, rules.stream, HlsPump::kKind,
        [&](stream::Stream& of) { return make_pump(of, options, rules.pump); });
    return made.ok() ? static_cast<HlsPump*>(*made) : nullptr;
}

void HlsService::on_publish(stream::Stream& stream) {
    const HlsOptions options = rules_.hls_options(stream.key());
    const bool is_private =
        services_.private_streams != nullptr && services_.private_streams->has(stream.key());
    if (options.enabled && options.always && !is_private && !stream.relayed() &&
        find_pump(stream.key()) == nullptr) {
        (void)own_pump(stream.key(), options);
    }
}

// Yields. The pump of each variant, in their order; null: it has nothing to play, also not soon.
// `dash`: one that grows will do, and one that DASH cannot have will not. Good until the next wait.
std::vector<HlsPump*> HlsService::wait_variants(const Ask& ask, bool dash) {
    // All of them begin before the first is waited for: some may come from other nodes.
    std::deque<HlsPump::Stay> stays;
    std::vector<HlsPump*> pumps;
    for (size_t i = 1; i <= ask.options.variants.size(); i++) {
        pumps.push_back(variant_pump(ask, i));
        if (pumps.back() != nullptr) {
            stays.emplace_back(*pumps.back());
        }
    }
    const auto deadline = io::Deadline::after(HlsPump::kVariantWait);
    for (HlsPump*& pump : pumps) {
        const bool usable = pump != nullptr && (!dash || pump->low_latency());
        if (!usable || !wait_variant(*pump, deadline, dash)) {
            pump = nullptr;
        }
    }
    return pumps;
}

// Yields. The stream itself, then those of its variants that can be played now.
std::vector<hls::Variant> HlsService::variants_of(const Ask& ask) {
    std::vector<hls::Variant> out;
    std::vector<HlsPump*> pumps = wait_variants(ask, false);
    pumps.insert(pumps.begin(), ask.home);
    const bool apart = ask.home->has_renditions();
    const std::string home = fmt::format("{}{}/", http::percent_encoded(ask.name), kFolderSuffix);
    for (size_t i = 0; i < pumps.size(); i++) {
        if (pumps[i] == nullptr) {
            continue;
        }
        const std::string folder = i == 0 ? home : fmt::format("{}{}/", home, i);
        // A player that changes to another quality wants its tracks as it had them: one that cannot
        // have them is left out.
        if (apart) {
            hls::Variant variant = pumps[i]->apart_variant(folder);
            if (pumps[i]->has_tracks_apart() && !variant.audio.empty()) {
                out.push_back(std::move(variant));
                make_alike(out.front(), home, folder, out.back());
            }
            continue;
        }
        out.push_back(pumps[i]->variant());
        out.back().uri = fmt::format("{}{}", folder, hls::kMediaPlaylistName);
    }
    return out;
}

// Yields. True: it has something to play. Of one that does not come nobody waits for the deadline.
bool HlsService::wait_variant(HlsPump& pump, io::Deadline deadline, bool open_too) {
    const stream::StreamKey key = pump.stream().key();
    for (;;) {
        const auto look = io::Deadline::after(kVariantLook);
        const Error error =
            pump.wait_variant(io::Deadline::at(std::min(look.time(), deadline.time())), open_too,
                              deadline.time() - HlsPump::kCutBefore);
        if (!error || error.code() == ErrorCode::kInterrupted || deadline.passed() ||
            !may_come(key)) {
            return !error;
        }
    }
}

// A player may change to any of them, as long as somebody plays one. Who has gone is not kept, as
// that would want a source for ever, but has its segments again when it is back.
void HlsService::keep_variants(const Ask& ask) {
    for (size_t i = 1; i <= ask.options.variants.size(); i++) {
        const stream::Stream* const stream = services_.registry.find(ask.options.variants[i - 1]);
        HlsPump* const pump = stream != nullptr && stream->live() ? variant_pump(ask, i) : nullptr;
        if (pump != nullptr) {
            pump->touch();
        }
    }
}

// The pump of each variant, in their order; null: it has none that can be played.
std::vector<HlsPump*> HlsService::variant_pumps(const Ask& ask) const {
    std::vector<HlsPump*> pumps;
    for (const stream::StreamKey& key : ask.options.variants) {
        pumps.push_back(rules_.hls_options(key).enabled ? find_pump(key) : nullptr);
    }
    return pumps;
}

// In the playlist of one variant, of all others that somebody watches.
std::string HlsService::rendition_reports(const Ask& ask) const {
    std::string out;
    for (size_t i = 0; i <= ask.options.variants.size(); i++) {
        const HlsPump* const pump = i == ask.variant ? nullptr
                                    : i == 0         ? ask.home
                                                     : find_pump(ask.options.variants[i - 1]);
        const auto newest = pump != nullptr ? pump->newest() : std::nullopt;
        if (newest) {
            const std::string folder = i == 0 ? "" : fmt::format("{}/", i);
            out += hls::write_rendition_report(fmt::format("{}{}{}", ask.variant == 0 ? "" : "../",
                                                           folder, hls::kMediaPlaylistName),
                                               newest->number, newest->part);
        }
    }
    return out;
}

// In the playlist of one track, of the other tracks, and of those of the variants.
std::string HlsService::track_reports(const Ask& ask) const {
    std::string out;
    for (size_t i = 0; i <= ask.options.variants.size(); i++) {
        const HlsPump* const pump = i == 0 ? ask.home : find_pump(ask.options.variants[i - 1]);
        const auto newest = pump != nullptr ? pump->newest() : std::nullopt;
        if (!newest || !pump->low_latency()) {
            continue;
        }
        const std::string folder = i == 0 ? "" : fmt::format("{}/", i);
        for (const hls::TrackName& track : pump->track_folders()) {
            if (i != ask.variant || track != ask.rendition) {
                out += hls::write_rendition_report(
                    fmt::format("{}{}{}/{}", ask.variant == 0 ? "../" : "../../", folder,
                                hls::track_name(track), hls::kMediaPlaylistName),
                    newest->number, newest->part);
            }
        }
    }
    return out;
}

// Yields. For requests behind the first one. False: it has been answered.
bool HlsService::may_read(net::HttpExchange& exchange, Ask& ask, HlsPump*& pump) {
    const http::Request& request = exchange.request();
    pump = find_pump(ask.key);
    if (!has_sessions(ask.key, ask.options)) {
        if (ask.list && pump == nullptr) {
            pump = admit(exchange, ask);
            return pump != nullptr;
        }
        const auto allowed =
            services_.policy.may_play({.key = ask.key,
                                       .peer = exchange.peer(),
                                       .token = http::access_token(request).value_or(""),
                                       .http = &request,
                                       .secure = exchange.secure(),
                                       .transport = ask.transport(),
                                       .query = request.query_text});
        if (!allowed.ok()) {
            refuse(exchange, allowed.error());
        } else if (pump == nullptr) {
            refuse(exchange, 404, "no such segment");
        }
        return allowed.ok() && pump != nullptr;
    }
    const std::string_view id = request.query.get_or("session", "");
    if (!is_session_id(id)) {
        refuse(exchange, 403,
               fmt::format("a viewer begins with {0}{1} or {0}{2}", ask.name, kListSuffix,
                           kDescriptionSuffix));
        return false;
    }
    ask.session_id = id;
    ask.session = pump != nullptr ? pump->find_session(id) : nullptr;
    const bool other = ask.session != nullptr && !ask.session->only_from.empty() &&
                       ask.session->only_from != exchange.peer().host();
    if (ask.session != nullptr && !other) {
        // Who follows where it is led has not come by itself yet.
        if (!ask.dash || !ask.list || ask.session->led == 0) {
            pump->note_return(*ask.session);
        }
        return true;
    }
    if (other || !ask.list || (pump != nullptr && pump->was_kicked(id))) {
        refuse(exchange, 403, "this session is over: load the playlist again");
        return false;
    }
    // A viewer who paused for long comes back: it is asked again who it is.
    pump = admit(exchange, ask);
    return pump != nullptr;
}

// ---- requests ----

// False: the request has been answered.
bool HlsService::find_options(net::HttpExchange& exchange,
                              std::string_view app,
                              std::string_view name,
                              Ask& ask) {
    ask.key = services_.policy.key_of(exchange.request().query.get_or("vhost", ""), app, name);
    ask.options = rules_.hls_options(ask.key);
    ask.name = name;
    if (!ask.options.enabled) {
        refuse(exchange, 404, "HLS is off for this stream (hls { enabled on; } turns it on)");
        return false;
    }
    return true;
}

// False: the request has been answered.
bool HlsService::parse_stream(net::HttpExchange& exchange, std::string_view suffix, Ask& ask) {
    const http::Request& request = exchange.request();
    std::string_view path = request.path;
    path.remove_suffix(suffix.size());
    std::string_view app;
    std::string_view name;
    if (!split_name(path, app, name)) {
        refuse(exchange, 404, fmt::format("a stream's address is /app/stream{}", suffix));
        return false;
    }
    return find_options(exchange, app, name, ask);
}

// Yields.
void HlsService::handle_stream(net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    Ask ask;
    HlsPump* const pump = parse_stream(exchange, kListSuffix, ask) ? admit(exchange, ask) : nullptr;
    if (pump == nullptr) {
        return;
    }
    const HlsPump::Stay stay(*pump);
    ask.home = pump;
    const std::vector<hls::Variant> variants = variants_of(ask);
    ask.look_again();
    stats_.playlists++;
    const std::string text = hls::with_query(
        hls::write_multivariant(variants), http::carried_query(request.query_text, ask.session_id));
    serve_text(exchange, ask, *pump, hls::kPlaylistType, text, text,
               ask.session != nullptr ? "no-store" : cache_for(2));
}

// Yields.
void HlsService::handle_description(net::HttpExchange& exchange) {
    Ask ask;
    ask.dash = ask.list = true;
    if (!parse_stream(exchange, kDescriptionSuffix, ask)) {
        return;
    }
    HlsPump* pump = nullptr;
    const bool named = has_sessions(ask.key, ask.options) &&
                       is_session_id(exchange.request().query.get_or("session", ""));
    if (!named) {
        pump = admit_again(exchange, ask, looks_of(exchange));
    }
    if (named ? !may_read(exchange, ask, pump) : pump == nullptr) {
        return;
    }
    const HlsPump::Stay stay(*pump);
    ask.home = pump;
    HlsSession* const session = ask.session;
    if (session == nullptr || !pump->low_latency()) {
        serve_description(exchange, ask, *pump);
    } else if (!named) {
        session->led++;
        lead_to_session(exchange, ask);
    } else {
        if (session->led == 0) {
            pump->set_looks(*session, ask.session_id, {});  // it came by itself
        } else {
            session->led--;
        }
        serve_description(exchange, ask, *pump);
    }
}

// Yields. To the address that has the viewer's session in it: most players stay there. A <Location>
// would have to be absolute for some (VHS, streamlink), and a proxy may hide what that is.
void HlsService::lead_to_session(net::HttpExchange& exchange, const Ask& ask) {
    const std::string to =
        fmt::format("{}{}?{}", http::percent_encoded(ask.name), kDescriptionSuffix,
                    http::carried_query(exchange.request().query_text, ask.session_id));
    (void)exchange.respond(307, {}, {}, {{"Location", to}, {"Cache-Control", "no-store"}});
}

// Yields. As admit(), but of who may have a session and does not say so.
HlsPump* HlsService::admit_again(net::HttpExchange& exchange, Ask& ask, const std::string& looks) {
    HlsPump* pump = find_pump(ask.key);
    const std::string id(pump != nullptr && has_sessions(ask.key, ask.options)
                             ? pump->find_looks(looks)
                             : std::string_view());
    if (!id.empty() && pump->was_kicked(id)) {
        refuse(exchange, 403, "this session is over");
        return nullptr;
    }
    ask.session = id.empty() ? nullptr : pump->find_session(id);
    if (ask.session != nullptr) {
        ask.session_id = id;
        pump->note_return(*ask.session);
        return pump;
    }
    pump = admit(exchange, ask);
    if (pump != nullptr && ask.session != nullptr) {
        pump->set_looks(*ask.session, ask.session_id, looks);
    }
    return pump;
}

// Yields.
void HlsService::handle_file(net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    const FolderPath path = parse_folder_path(request.path);
    std::string_view app;
    std::string_view name;
    Ask ask;
    if (path.file == kOldDescriptionName && split_name(path.folder, app, name)) {
        (void)exchange.respond(307, {}, {},
                               {{"Location", fmt::format("../{}{}?{}", http::percent_encoded(name),
                                                         kDescriptionSuffix, request.query_text)}});
        return;
    }
    ask.variant = path.variant;
    ask.rendition = path.rendition;
    ask.file = hls::parse_file_name(path.file);
    // What is of all tracks, or names one, stands in the folder of the stream.
    const bool misplaced =
        ask.rendition.track != hls::FileTrack::kAll &&
        (ask.file.track != hls::FileTrack::kAll || ask.file.kind == hls::FileKind::kKey ||
         ask.file.kind == hls::FileKind::kClock);
    if (ask.file.kind == hls::FileKind::kUnknown || misplaced ||
        !split_name(path.folder, app, name)) {
        refuse(exchange, 404,
               "there is nothing at this path; a stream's address is /app/stream.m3u8");
        return;
    }
    if (!find_options(exchange, app, name, ask)) {
        return;
    }
    ask.dash = ask.file.track != hls::FileTrack::kAll;
    ask.list = ask.file.kind == hls::FileKind::kPlaylist;
    HlsPump* pump = nullptr;
    if (ask.file.kind == hls::FileKind::kClock) {
        serve_clock(exchange);
        return;
    }
    if (may_read(exchange, ask, pump)) {
        serve_file(exchange, ask, *pump);
    }
}

// Yields.
void HlsService::serve_file(net::HttpExchange& exchange, Ask& ask, HlsPump& home) {
    const HlsPump::Stay stay(home);
    ask.home = &home;
    keep_variants(ask);
    HlsPump* const pump = ask.variant == 0 ? &home : variant_pump(ask, ask.variant);
    if (pump == nullptr) {
        refuse(exchange, 404, "that variant is not published");
    } else if (ask.file.kind == hls::FileKind::kPlaylist) {
        serve_playlist(exchange, ask, *pump);
    } else {
        serve_media(exchange, ask, *pump);
    }
}

}  // namespace weir::session
