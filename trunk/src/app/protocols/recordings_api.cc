#include "app/protocols/recordings_api.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "app/access/strict_json.h"
#include "app/api/listing.h"
#include "base/log.h"
#include "io/socket_address.h"
#include "proto/http/request.h"
#include "proto/rtmp/stream_name.h"

namespace weir::app {
namespace {

constexpr std::string_view kPath = "/api/v1/recordings";
constexpr int kMaxDepth = 2;
constexpr size_t kMaxText = 512;

int status_of(const Error& error) {
    switch (error.code()) {
        case ErrorCode::kMalformed: return 400;
        case ErrorCode::kNotFound: return 404;
        case ErrorCode::kBusy:
        case ErrorCode::kUnsupported: return 409;
        default: return 503;
    }
}

void add_key(net::Json& json, const stream::StreamKey& key) {
    json["vhost"] = key.vhost;
    json["app"] = key.app;
    json["stream"] = key.name;
}

net::Json running_json(const session::Recording& recording) {
    net::Json json = {{"id", recording.id()}, {"state", "recording"}};
    add_key(json, recording.key());
    const session::FileQueue* const file = recording.file();
    json["folder"] = recording.options().path;
    json["file"] = file != nullptr ? file->name() : "";
    json["format"] = session::to_string(recording.options().format);
    json["started_ms"] = file != nullptr ? file->order().started_ms : recording.started_ms();
    json["duration_ms"] = file != nullptr ? file->duration_ms() : 0;
    json["bytes"] = file != nullptr ? file->written_bytes() : 0;
    json["frames"] = file != nullptr ? file->frames() : 0;
    json["queued_bytes"] = file != nullptr ? file->queued_bytes() : 0;
    json["files"] = recording.files();
    json["gaps"] = recording.gaps();
    json["frames_lost"] = recording.loss().frames;
    json["bytes_lost"] = recording.loss().bytes;
    json["lost_ms"] = recording.loss().duration_ms;
    json["frames_left_out"] = recording.frames_left_out();
    json["trouble"] = recording.trouble();
    return json;
}

net::Json finished_json(const session::RecordedFile& file,
                        const session::RecordPlayback& playback) {
    net::Json json = {{"id", session::RecordService::file_id(file)}, {"state", "finished"}};
    add_key(json, file.key);
    json["folder"] = file.folder;
    json["file"] = file.file;
    json["format"] = file.format;
    json["started_ms"] = file.started_ms;
    json["ended_ms"] = file.ended_ms;
    json["duration_ms"] = file.duration_ms;
    json["bytes"] = file.bytes;
    json["frames"] = file.frames;
    json["repaired"] = file.repaired;
    json["reason"] = file.why;
    json["play"] = playback.address_of(file);
    return json;
}

}  // namespace

void RecordingsApi::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions options;
    options.errors = http::ErrorFormat::kJson;
    options.access = net::HttpAccess::kOperate;
    options.methods |=
        http::method_bit(http::Method::kDelete) | http::method_bit(http::Method::kPost);
    router.add_prefix(std::string(kPath), options, [this](auto& exchange) { handle(exchange); });
}

void RecordingsApi::handle(net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    std::string_view id = request.path;
    id.remove_prefix(std::min(id.size(), kPath.size() + 1));
    if (request.method == http::Method::kPost) {
        if (id.empty()) {
            order(exchange);
        } else {
            (void)exchange.respond_error(405, "POST is for /api/v1/recordings",
                                         {{"Allow", "GET, HEAD, DELETE"}});
        }
    } else if (request.method == http::Method::kDelete) {
        if (id.empty()) {
            (void)exchange.respond_error(
                405, "name one: DELETE /api/v1/recordings/ID; GET /api/v1/recordings lists them",
                {{"Allow", "GET, HEAD, POST"}});
        } else {
            end(exchange, id);
        }
    } else if (id.empty()) {
        list(exchange);
    } else {
        show(exchange, id);
    }
}

// Those that run first, then the finished ones of each folder, the newest first.
void RecordingsApi::list(net::HttpExchange& exchange) {
    const http::Query& query = exchange.request().query;
    const Result<Page> page = Page::read(query);
    const Result<ListFilterView> filter = ListFilterView::of_streams(query);
    if (!page.ok() || !filter.ok()) {
        (void)exchange.respond_error(400, (page.ok() ? filter.error() : page.error()).message());
        return;
    }
    const std::string_view state = query.get_or("state", "all");
    if (state != "all" && state != "recording" && state != "finished") {
        (void)exchange.respond_error(400, "state must be all, recording or finished");
        return;
    }
    ListText text;
    uint64_t total = 0;
    if (state != "finished") {
        service_.for_each([&](const session::Recording& recording) {
            if (filter->fits(recording.key()) && page->has(total++)) {
                text.add(running_json(recording));
            }
        });
    }
    if (state != "recording") {
        service_.for_each_store([&](const session::RecordStore& store) {
            // By place: files come and go while this yields. Stores stay. Other processes list
            // their own.
            const auto& files = store.files();
            for (auto at = files.end(); at != files.begin();) {
                --at;
                const session::RecordStore::Place place = at->first;
                const bool fits = !at->second.elsewhere && filter->fits(at->second.key);
                if (fits && page->has(total++)) {
                    text.add(finished_json(at->second, playback_));
                }
                text.pause_if_long();
                at = files.lower_bound(place);
            }
        });
    }
    (void)exchange.respond(200, "application/json", text.take(identity_, total, "recordings"));
}

void RecordingsApi::order(net::HttpExchange& exchange) {
    const auto json = parse_strict_object(exchange.request().body, kMaxDepth);
    std::string vhost(stream::kDefaultVhost);
    std::string path;
    std::string action = "start";
    bool good = json.has_value();
    if (json) {
        for (const auto& [name, value] : json->items()) {
            std::string* const member = name == "stream"   ? &path
                                        : name == "vhost"  ? &vhost
                                        : name == "action" ? &action
                                                           : nullptr;
            if (member == nullptr || !value.is_string() ||
                value.get_ref<const std::string&>().size() > kMaxText) {
                good = false;
                break;
            }
            *member = value.get<std::string>();
        }
    }
    const size_t slash = path.rfind('/');
    rtmp::StreamName name;
    if (!good || (action != "start" && action != "stop") || slash == std::string::npos ||
        rtmp::parse_path(path.substr(0, slash), path.substr(slash + 1), name)) {
        (void)exchange.respond_error(
            400,
            "the body is to be {\"stream\": \"APP/STREAM\"}, perhaps with \"vhost\" and with "
            "\"action\": \"start\" or \"stop\"");
        return;
    }
    const stream::StreamKey key = services_.policy.key_of(vhost, name.app, name.stream);
    const Error error = action == "start" ? service_.start(key) : service_.stop_recording(key);
    if (error) {
        (void)exchange.respond_error(status_of(error), error.message());
        return;
    }
    log::info("api {}s recording of stream={} ip={}", action, log::token(key.to_string()),
              exchange.peer().host());
    net::Json body = net::envelope(identity_);
    // Null: it begins with the next publisher, or has ended.
    const session::Recording* const running = service_.find(key);
    body["recording"] = running != nullptr ? running_json(*running) : net::Json(nullptr);
    (void)exchange.respond(action == "start" ? 201 : 200, "application/json",
                           net::dumped(body) + "\n");
}

void RecordingsApi::show(net::HttpExchange& exchange, std::string_view id) {
    net::Json found = nullptr;
    if (const session::Recording* const running = service_.find(id)) {
        found = running_json(*running);
    } else if (const session::RecordedFile* const file = service_.find_file(id)) {
        found = finished_json(*file, playback_);
    }
    if (found.is_null()) {
        (void)exchange.respond_error(404,
                                     "no recording has that id; GET /api/v1/recordings lists them");
        return;
    }
    net::Json body = net::envelope(identity_);
    body["recording"] = std::move(found);
    net::answer(exchange, body);
}

// One that runs ends; the file of a finished one is removed.
void RecordingsApi::end(net::HttpExchange& exchange, std::string_view id) {
    const bool runs = service_.find(id) != nullptr;
    const Error error = runs ? service_.stop_recording(id) : service_.remove(id);
    if (error) {
        (void)exchange.respond_error(404,
                                     "no recording has that id; GET /api/v1/recordings lists them");
        return;
    }
    log::info("api {} recording={} ip={}", runs ? "ends" : "removes", id, exchange.peer().host());
    net::answer(exchange, net::envelope(identity_));
}

}  // namespace weir::app
