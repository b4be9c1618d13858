#include "app/api/sources_api.h"

#include <algorithm>
#include <array>
#include <vector>

#include "app/access/strict_json.h"
#include "app/api/listing.h"
#include "base/log.h"
#include "io/socket_address.h"
#include "io/tcp.h"
#include "proto/http/request.h"

namespace weir::app {
namespace {

constexpr std::string_view kPath = "/api/v1/sources";
constexpr int kMaxDepth = 4;

int status_of(const Error& error) {
    switch (error.code()) {
        case ErrorCode::kBusy: return 409;
        case ErrorCode::kNotFound: return 404;
        case ErrorCode::kFull: return 409;
        case ErrorCode::kTimeout:
        case ErrorCode::kInterrupted: return 503;
        default: return 500;
    }
}

net::Json group_json(const net::GroupStats& group) {
    return {{"datagrams", group.datagrams},
            {"unicast", group.unicast},
            {"kernel_drops", group.kernel_drops},
            {"strangers", group.strangers},
            {"foreign", group.foreign},
            {"lost", group.lost},
            {"parities", group.parities},
            {"recovered", group.recovered},
            {"reordered", group.reordered},
            {"late", group.late},
            {"duplicates", group.duplicates},
            {"restarts", group.restarts},
            {"continuity_errors", group.continuity_errors},
            {"receive_buffer_bytes", group.receive_buffer}};
}

net::Json source_json(const net::Source& source, MonoTime now) {
    const net::SourceSpec& spec = source.spec();
    const net::SourceMachine& machine = source.machine();
    const auto age = std::chrono::duration_cast<Millis>(now - machine.since()).count();
    net::Json json = {{"id", source.id()},
                      {"role", net::to_string(spec.role)},
                      {"vhost", spec.key.vhost},
                      {"app", spec.key.app},
                      {"name", spec.key.name},
                      {"url", spec.shown},
                      {"on_demand", spec.on_demand},
                      {"added_by", spec.by_api ? "api" : "configuration"},
                      {"state", net::to_string(machine.state())},
                      {"since_ms", wall_time_ms() - age},
                      {"attempts", machine.attempts()},
                      {"failures", machine.failures()},
                      {"last_error", source.last_error()},
                      {"bytes", source.bytes()}};
    if (const std::optional<net::Origin>& origin = source.origin()) {
        json["url"] = origin->url.shown();
        json["node"] = origin->node;
        json["epoch"] = origin->epoch;
    }
    if (const std::optional<net::GroupStats>& group = source.group()) {
        json["group"] = group_json(*group);
    }
    return json;
}

}  // namespace

void SourcesApi::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions options;
    options.errors = http::ErrorFormat::kJson;
    options.methods |=
        http::method_bit(http::Method::kPost) | http::method_bit(http::Method::kDelete);
    router.add_prefix(std::string(kPath), options, [this](auto& exchange) { handle(exchange); });
}

void SourcesApi::handle(net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    std::string_view id = request.path;
    id.remove_prefix(std::min(id.size(), kPath.size() + 1));
    if (!id.empty()) {
        handle_one(exchange, id);
    } else if (request.method == http::Method::kPost) {
        add(exchange);
    } else if (request.method == http::Method::kDelete) {
        (void)exchange.respond_error(
            405, "name one: DELETE /api/v1/sources/ID; GET /api/v1/sources lists them",
            {{"Allow", "GET, HEAD, POST"}});
    } else {
        list(exchange);
    }
}

// Nothing of the body is said again: it may hold a password.
void SourcesApi::add(net::HttpExchange& exchange) {
    const auto json = parse_strict_object(exchange.request().body, kMaxDepth);
    Result<net::SourceSpec> spec =
        json ? read_source(*json)
             : make_error(ErrorCode::kMalformed,
                          "the body is no JSON object, or a name is in it "
                          "twice");
    if (!spec.ok()) {
        (void)exchange.respond_error(400, spec.error().message());
        return;
    }
    const stream::StreamKey key = spec->key;
    if (!has_vhost_(key.vhost)) {
        (void)exchange.respond_error(400, "'vhost': there is no such vhost in the configuration");
        return;
    }
    const net::Source* const there = find([&key](const net::Source& source) {
        return source.spec().role == net::SourceRole::kPull && source.spec().named &&
               source.spec().key == key;
    });
    if (there != nullptr) {
        (void)exchange.respond_error(
            409, there->spec().by_api
                     ? fmt::format("the stream has a source already: DELETE /api/v1/sources/{} "
                                   "takes it away",
                                   there->id())
                     : "the stream has a source in the configuration");
        return;
    }
    const Error failed = added_.add(std::move(*spec));  // yields
    sources_.reconfigure();
    if (failed) {
        (void)exchange.respond_error(status_of(failed), failed.message());
        return;
    }
    const net::Source* const made = find([&key](const net::Source& source) {
        return source.spec().by_api && source.spec().key == key;
    });
    if (made == nullptr) {
        (void)exchange.respond_error(503, "the server is stopping");
        return;
    }
    log::info("api added source={} stream={} url={} ip={}", made->id(), log::token(key.to_string()),
              log::escaped(made->spec().shown), exchange.peer().host());
    net::Json body = net::envelope(identity_);
    body["source"] = source_json(*made, MonoClock::now());
    (void)exchange.respond(201, "application/json", net::dumped(body) + "\n",
                           {{"Location", fmt::format("{}/{}", kPath, made->id())}});
}

void SourcesApi::handle_one(net::HttpExchange& exchange, std::string_view id) {
    const net::Source* const source =
        find([id](const net::Source& each) { return each.id() == id; });
    if (source == nullptr) {
        (void)exchange.respond_error(404, "no source with that id; GET /api/v1/sources lists them");
        return;
    }
    net::Json body = net::envelope(identity_);
    switch (exchange.request().method) {
        case http::Method::kPost:
            (void)exchange.respond_error(405, "sources are added by POST /api/v1/sources",
                                         {{"Allow", "GET, HEAD, DELETE"}});
            return;
        case http::Method::kDelete: break;
        default:
            body["source"] = source_json(*source, MonoClock::now());
            net::answer(exchange, body);
            return;
    }
    if (!source->spec().by_api) {
        (void)exchange.respond_error(
            409, "this one is of the configuration: take it away there, and reload");
        return;
    }
    const stream::StreamKey key = source->spec().key;
    const std::string name(id);
    const Error failed = added_.remove(key);  // yields
    sources_.reconfigure();
    if (failed) {
        (void)exchange.respond_error(status_of(failed), failed.message());
        return;
    }
    log::info("api removed source={} stream={} ip={}", name, log::token(key.to_string()),
              exchange.peer().host());
    net::answer(exchange, body);
}

const net::Source* SourcesApi::find(const std::function<bool(const net::Source&)>& wanted) const {
    const net::Source* found = nullptr;
    sources_.for_each([&](const net::Source& source) {
        if (found == nullptr && wanted(source)) {
            found = &source;
        }
    });
    return found;
}

void SourcesApi::list(net::HttpExchange& exchange) {
    const Result<Page> page = Page::read(exchange.request().query);
    if (!page.ok()) {
        (void)exchange.respond_error(400, page.error().message());
        return;
    }
    // A page has a thousand members at most: short enough to be written without a yield.
    const MonoTime now = MonoClock::now();
    ListText text;
    uint64_t total = 0;
    sources_.for_each([&](const net::Source& source) {
        if (page->has(total++)) {
            text.add(source_json(source, now));
        }
    });
    (void)exchange.respond(200, "application/json", text.take(identity_, total, "sources"));
}

void SourcesApi::add_metrics(net::Exposition& text) const {
    constexpr std::array kRoles{net::SourceRole::kPull, net::SourceRole::kForward};
    std::array<std::array<uint64_t, net::kSourceStates>, net::kSourceRoles> counts{};
    sources_.for_each([&counts](const net::Source& source) {
        counts[static_cast<size_t>(source.spec().role)]
              [static_cast<size_t>(source.machine().state())]++;
    });
    constexpr std::string_view kSources = "weir_sources";
    text.head(kSources, "gauge", "Sources and forwards, by state.");
    for (const net::SourceRole role : kRoles) {
        for (size_t state = 0; state < net::kSourceStates; state++) {
            text.sample(kSources, counts[static_cast<size_t>(role)][state],
                        fmt::format("{{role=\"{}\",state=\"{}\"}}", net::to_string(role),
                                    net::to_string(static_cast<net::SourceState>(state))));
        }
    }
    const auto counter = [&](std::string_view name, std::string_view help, auto&& value) {
        text.head(name, "counter", help);
        for (const net::SourceRole role : kRoles) {
            text.sample(name, value(sources_.stats(role)),
                        fmt::format("{{role=\"{}\"}}", net::to_string(role)));
        }
    };
    counter("weir_source_attempts_total", "Connections that sources and forwards began.",
            [](const net::SourceStats& stats) { return stats.attempts; });
    counter("weir_source_failures_total", "Those that ended though they were wanted.",
            [](const net::SourceStats& stats) { return stats.failures; });
    counter("weir_source_bytes_total", "Bytes received by sources, sent by forwards.",
            [](const net::SourceStats& stats) { return stats.bytes; });
    counter("weir_source_refused_total", "Streams that were asked for beyond max_sources.",
            [](const net::SourceStats& stats) { return stats.refused; });
    counter("weir_source_displaced_total",
            "Relays that never came up, and gave their place to another stream.",
            [](const net::SourceStats& stats) { return stats.displaced; });
}

}  // namespace weir::app
