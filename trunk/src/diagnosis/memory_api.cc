#include "diagnosis/memory_api.h"

#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/object_count.h"
#include "io/deadline.h"
#include "io/stacks.h"
#include "stream/registry.h"
#include "stream/stream.h"

namespace weir::diagnosis {
namespace {

constexpr Millis kReadDeadline{10'000};  // for a run on a worker, which has work of others too

net::Json heap_json(const std::optional<HeapStats>& heap) {
    if (!heap) {
        return {{"allocator", heap_allocator()},
                {"in_use_bytes", nullptr},
                {"free_held_bytes", nullptr}};
    }
    return {{"allocator", heap->allocator},
            {"in_use_bytes", heap->in_use_bytes},
            {"free_held_bytes", heap->free_held_bytes},
            {"mapped_bytes", heap->mapped_bytes}};
}

// Of stacks, what is in memory; of everything else, the objects' own bytes and what is `uncounted`.
std::map<std::string, uint64_t> bytes_by_subsystem(const MemoryReport& uncounted) {
    std::map<std::string, uint64_t> bytes;
    for_each_object_class([&](const ObjectClass& each) {
        const std::string_view name = each.name();
        bytes[each.subsystem()] += name == "stack" || name == "stack_kept" ? 0 : each.bytes();
    });
    for (const auto& [name, more] : uncounted.uncounted()) {
        bytes[name] += more;
    }
    return bytes;
}

}  // namespace

void MemoryApi::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions options;
    options.errors = http::ErrorFormat::kJson;
    router.add_prefix("/api/v1/memory", options, [this](auto& exchange) { memory(exchange); });
}

Error MemoryApi::read() {
    if (reading_) {
        // Somebody else's run, so that a crowd of requests costs what one costs.
        for (const uint64_t before = runs_; runs_ == before;) {
            WEIR_TRY(read_.wait_until(io::Deadline::after(kReadDeadline)));
        }
        return {};
    }
    reading_ = true;
    Figures figures;
    Error refused = workers_.run([&figures, ranges = io::merged_stack_ranges()] {
        figures.memory = memory_stats();
        figures.unique = unique_bytes();
        figures.stacks = io::resident_stack_bytes(ranges);
        figures.heap = heap_stats();
    });
    reading_ = false;
    if (refused) {
        return refused;  // at once: nobody has begun to wait for this run
    }
    last_ = figures;
    runs_++;
    read_.notify_all();
    return {};
}

void MemoryApi::memory(net::HttpExchange& exchange) {
    if (Error refused = read()) {
        (void)exchange.respond_error(503,
                                     fmt::format("the workers are busy: {}", refused.message()));
        return;
    }
    const Figures figures = last_;
    MemoryReport report(services_.clients);
    report.add_uncounted("coroutines", figures.stacks);
    uint64_t frames = 0;  // that streams keep; those in logs are counted there
    services_.registry.for_each(
        [&](const stream::Stream& stream) { frames += stream.own_gop_bytes(); });
    report.add_uncounted("streams", frames);
    if (add_) {
        add_(report);
    }
    net::Json subsystems = net::Json::array();
    uint64_t sum = 0;
    for (const auto& [name, bytes] : bytes_by_subsystem(report)) {
        subsystems.push_back({{"subsystem", name}, {"bytes", bytes}});
        sum += bytes;
    }
    net::Json body = net::envelope(identity_);
    body["data"] = {{"resident_bytes", figures.memory.resident_bytes},
                    {"unique_bytes", figures.unique},
                    {"virtual_bytes", figures.memory.virtual_bytes},
                    {"heap", heap_json(figures.heap)},
                    {"accounted_bytes", sum},
                    {"subsystems", std::move(subsystems)},
                    {"sessions", report.take_sessions()}};
    answer(exchange, body);
}

}  // namespace weir::diagnosis
