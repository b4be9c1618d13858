#include "session/ts/playlist_service.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "base/log.h"
#include "base/redact.h"
#include "base/strings.h"
#include "io/deadline.h"
#include "io/socket_address.h"
#include "proto/http/access_token.h"
#include "proto/http/response_parser.h"
#include "proto/http/url.h"

namespace weir::session {
namespace {

constexpr size_t kReadBytes = 64 * 1024;
constexpr size_t kMaxHost = 255;
constexpr std::string_view kGzip = "\x1F\x8B";

// XML, perhaps behind a byte order mark and blanks.
bool is_markup(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) {
        text.remove_prefix(3);
    }
    return trim(text.substr(0, 256)).starts_with('<');
}

bool is_url(std::string_view where) {
    return where.starts_with("http://") || where.starts_with("https://");
}

// A name or address with a port, and nothing that would end it in a playlist.
bool is_host(std::string_view host) {
    return !host.empty() && host.size() <= kMaxHost && std::ranges::all_of(host, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '-' || c == ':' || c == '[' || c == ']' || c == '_';
    });
}

// What the client was let in with, as it wrote it.
std::string key_of(std::string_view query) {
    std::string out;
    for (const std::string_view item : split(query, '&', 64)) {
        if (item.starts_with("key=") || item.starts_with("token=")) {
            out += out.empty() ? "" : "&";
            out += item;
        }
    }
    // It goes into lines and quotes of a playlist.
    std::erase_if(out, [](char c) { return c == '"' || c <= ' ' || c == 0x7F; });
    return out;
}

// Where the client found this server.
std::string base_of(net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    std::string host = request.host;
    if (exchange.believes_proxy()) {
        const std::string_view said = request.headers.get("X-Forwarded-Host").value_or("");
        const std::string_view first = trim(said.substr(0, said.find(',')));
        host = is_host(first) ? first : host;
    }
    if (!is_host(host)) {
        host = exchange.local().to_string();
    }
    return (exchange.secure() ? "https://" : "http://") + host;
}

// Blocks on disk.
Result<std::string> read_whole(const std::string& path, size_t most) {
    WEIR_TRY_ASSIGN(const FilePointer file, open_regular_file(path));
    std::string text;
    for (;;) {
        const size_t had = text.size();
        text.resize(had + kReadBytes);
        const size_t got = std::fread(text.data() + had, 1, kReadBytes, file.get());
        text.resize(had + got);
        if (text.size() > most) {
            return make_error(ErrorCode::kLimit, "{}: more than {} bytes", path, most);
        }
        if (got == 0) {
            return text;
        }
    }
}

}  // namespace

PlaylistService::~PlaylistService() = default;

void PlaylistService::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions options;
    options.cors = true;
    router.add_prefix("/playlist.m3u", options,
                      [this](net::HttpExchange& exchange) { serve_playlist(exchange); });
    router.add_prefix("/epg.xml", options,
                      [this](net::HttpExchange& exchange) { serve_guide(exchange); });
}

Error PlaylistService::use(const PlaylistOptions& options, io::WorkerPool& workers) {
    if (workers_ != nullptr && options == options_) {
        return {};
    }
    if (options.playlist != options_.playlist) {
        playlist_.reset();
        guide_.reset();
    }
    workers_ = &workers;
    options_ = options;
    changed_ = true;
    wake_.notify_all();
    if (!running_ && !options_.playlist.empty()) {
        WEIR_TRY_ASSIGN(coroutine_, io::Coroutine::spawn("playlist", io::StackSize::kNormal,
                                                         [this] { run(); }));
        running_ = true;
    }
    return {};
}

void PlaylistService::stop() {
    if (running_) {
        coroutine_.interrupt();
        coroutine_.join();
        running_ = false;
    }
}

const net::GroupAddress* PlaylistService::find(std::string_view name) const {
    return playlist_ ? playlist_->find(name) : nullptr;
}

// ---- reading ----

void PlaylistService::run() {
    for (;;) {
        changed_ = false;
        Error error = options_.playlist.empty() ? Error() : refresh();
        if (error.code() == ErrorCode::kInterrupted || io::interrupted()) {
            return;
        }
        const std::string said(error.message());
        if (error && said != trouble_) {
            log::warn("playlist not read, what was read before stays: {}", said);
        }
        trouble_ = said;
        const io::Deadline next =
            io::Deadline::after(error ? std::min(kRetry, options_.refresh) : options_.refresh);
        while (!changed_ && !next.passed()) {
            const Error waited = wake_.wait_until(next, "the playlist's next time");
            if (waited.code() == ErrorCode::kInterrupted) {
                return;
            }
        }
    }
}

Error PlaylistService::refresh() {
    const PlaylistOptions options = options_;
    WEIR_TRY_ASSIGN(const std::string text, read(options.playlist, m3u::kMaxBytes));
    auto parsed = GroupPlaylist::parse(text);
    if (!parsed.ok()) {
        return parsed.take_error().with_context("playlist");
    }
    if (options != options_) {
        return {};  // changed meanwhile
    }
    const bool is_first = playlist_ == nullptr;
    playlist_ = std::make_shared<const GroupPlaylist>(std::move(parsed).value());
    if (is_first) {
        log::info("playlist read channels={} groups={}", playlist_->channels(),
                  playlist_->groups());
    }
    return refresh_guide(options);
}

Error PlaylistService::refresh_guide(const PlaylistOptions& options) {
    // A playlist that others wrote may name URLs, not files of this host.
    const std::string said(playlist_->guide_url());
    const std::string& where = options.guide.empty() && is_url(said) ? said : options.guide;
    if (where.empty()) {
        return {};
    }
    // And only of their own host: this server reaches others that they must not.
    std::string host;
    if (options.guide.empty() && is_url(options.playlist)) {
        WEIR_TRY_ASSIGN(const http::Url from, http::Url::parse(options.playlist));
        host = from.host;
    }
    Result<std::string> guide = read(where, kMaxGuideBytes, host);
    if (!guide.ok()) {
        return guide.take_error();
    }
    if (!guide->starts_with(kGzip) && !is_markup(*guide)) {
        return make_error(ErrorCode::kMalformed, "the programme guide is no XML");
    }
    if (options == options_) {
        guide_ = std::make_shared<const std::string>(std::move(*guide));
    }
    return {};
}

// `host`: all of it has to come from there; empty: from anywhere.
Result<std::string> PlaylistService::read(const std::string& where,
                                          size_t most,
                                          std::string_view host) {
    return is_url(where) ? fetch(where, most, host) : read_file(where, most);
}

Result<std::string> PlaylistService::read_file(const std::string& path, size_t most) {
    Result<std::string> text = std::string();
    WEIR_TRY(workers_->run([&] { text = read_whole(path, most); }));
    return text;
}

Result<std::string> PlaylistService::fetch(const std::string& text,
                                           size_t most,
                                           std::string_view host) {
    net::HttpClientOptions options;
    options.limits.body_bytes = most;
    options.idle_per_server = 0;  // once an hour
    net::HttpClient client(resolver_, options);
    client.set_workers(workers_);
    WEIR_TRY_ASSIGN(http::Url url, http::Url::parse(text));
    const io::Deadline deadline = io::Deadline::after(kFetch);
    for (int i = 0; i <= kMaxRedirects; i++) {
        if (!host.empty() && !equals_ignore_case(url.host, host)) {
            return make_error(ErrorCode::kDenied,
                              "the guide is on another host than the playlist; name it with "
                              "playlist_guide");
        }
        WEIR_TRY_ASSIGN(http::Response answer,
                        client.exchange(http::Method::kGet, url, {}, {}, deadline));
        if (answer.status == 200) {
            return std::move(answer.body);
        }
        const std::string_view location = answer.headers.get("Location").value_or("");
        if (answer.status / 100 != 3 || location.empty()) {
            return make_error(ErrorCode::kNotFound, "{}: the answer is {}",
                              hidden_path(url.shown()), answer.status);
        }
        WEIR_TRY_ASSIGN(url, url.resolve(location));
    }
    return make_error(ErrorCode::kLimit, "{}: more than {} redirects", hidden_path(url.shown()),
                      kMaxRedirects);
}

// ---- serving ----

// As a player of a group without a section of its own, in the vhost to which the addresses of the
// list lead. They name none, so the vhost that the client names has no say.
bool PlaylistService::admits(net::HttpExchange& exchange) const {
    const http::Request& request = exchange.request();
    const stream::StreamKey key = policy_.key_of("", net::kGroupApp, "playlist");
    const auto allowed = policy_.may_play({.key = key,
                                           .peer = exchange.peer(),
                                           .token = http::access_token(request).value_or(""),
                                           .http = &request,
                                           .secure = exchange.secure(),
                                           .transport = "ts",
                                           .query = request.query_text});
    if (!allowed.ok()) {
        (void)exchange.respond_error(403, allowed.error().message());
    }
    return allowed.ok();
}

void PlaylistService::serve_playlist(net::HttpExchange& exchange) {
    if (!admits(exchange)) {
        return;
    }
    const auto playlist = playlist_;
    if (!playlist) {
        (void)exchange.respond_error(404, options_.playlist.empty()
                                              ? "There is no playlist: the directive `playlist` "
                                                "names one."
                                              : "The playlist has not been read yet.");
        return;
    }
    const std::string text = playlist->write({.base = base_of(exchange),
                                              .query = key_of(exchange.request().query_text),
                                              .guide = guide_ != nullptr});
    (void)exchange.respond(200, "audio/x-mpegurl; charset=utf-8", text,
                           {{"Cache-Control", "no-cache"}});
}

void PlaylistService::serve_guide(net::HttpExchange& exchange) {
    if (!admits(exchange)) {
        return;
    }
    const auto guide = guide_;
    if (!guide) {
        (void)exchange.respond_error(404, "There is no programme guide.");
        return;
    }
    http::Fields fields = {{"Cache-Control", "no-cache"}};
    const bool packed = guide->starts_with(kGzip);
    const std::string_view takes = exchange.request().headers.get("Accept-Encoding").value_or("");
    const bool unpacks = takes.find("gzip") != std::string_view::npos;
    if (packed && unpacks) {
        fields.add("Content-Encoding", "gzip");
    }
    // Of others, so no page of this server; and too large for a copy for each who asks.
    fields.add("X-Content-Type-Options", "nosniff");
    fields.add("Content-Security-Policy", "sandbox");
    if (!exchange.begin(200, packed && !unpacks ? "application/gzip" : "application/xml",
                        guide->size(), fields)) {
        (void)exchange.write(as_bytes(*guide));
    }
}

}  // namespace weir::session
