#include "app/api/sources_api.h"

#include <array>
#include <vector>

#include "app/api/listing.h"

namespace weir::app {
namespace {

constexpr std::string_view kPath = "/api/v1/sources";

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
                      {"state", net::to_string(machine.state())},
                      {"since_ms", wall_time_ms() - age},
                      {"attempts", machine.attempts()},
                      {"failures", machine.failures()},
                      {"last_error", source.last_error()},
                      {"bytes", source.bytes()}};
    return json;
}

}  // namespace

void SourcesApi::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions options;
    options.errors = http::ErrorFormat::kJson;
    router.add_prefix(std::string(kPath), options, [this](auto& exchange) { list(exchange); });
}

void SourcesApi::list(net::HttpExchange& exchange) {
    if (exchange.request().path != kPath && exchange.request().path != "/api/v1/sources/") {
        (void)exchange.respond_error(404, "there is nothing below /api/v1/sources");
        return;
    }
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
}

}  // namespace weir::app
