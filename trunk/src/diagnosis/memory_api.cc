#include "diagnosis/memory_api.h"

#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/object_count.h"
#include "io/stacks.h"

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

// What is not counted per class: it changes with every message.
struct Uncounted {
    uint64_t stacks = 0;   // what of them is in memory
    uint64_t frames = 0;   // that streams keep
    uint64_t history = 0;  // RTP payloads
};

// Of stacks, what is in memory; of everything else, the objects' own bytes.
std::map<std::string, uint64_t> bytes_by_subsystem(const Uncounted& uncounted) {
    std::map<std::string, uint64_t> bytes;
    for_each_object_class([&](const ObjectClass& each) {
        const std::string_view name = each.name();
        bytes[each.subsystem()] += name == "stack" || name == "stack_kept" ? 0 : each.bytes();
    });
    bytes["coroutines"] += uncounted.stacks;
    bytes["streams"] += uncounted.frames;
    bytes["rtp_history"] += uncounted.history;
    return bytes;
}

net::Json kind_json(std::string_view kind, uint64_t sessions, uint64_t bytes) {
    return {{"kind", kind},
            {"sessions", sessions},
            {"bytes", bytes},
            {"bytes_each", sessions > 0 ? bytes / sessions : 0}};
}

void add_rtc_kinds(net::Json& list, const session::RtcServer& rtc) {
    const auto add = [&list](std::string_view name, const session::RtcServer::Kinds::Kind& kind) {
        const session::RtcSessionMemory& memory = kind.memory;
        net::Json json = kind_json(name, kind.sessions, memory.sum());
        json["parts"] = {{"ice", memory.ice},
                         {"dtls", memory.dtls},
                         {"srtp", memory.srtp},
                         {"media", memory.media},
                         {"other", memory.other}};
        list.push_back(std::move(json));
    };
    const session::RtcServer::Kinds kinds = rtc.kinds();
    add("webrtc-connecting", kinds.connecting);
    add("webrtc-publish", kinds.publishers);
    add("webrtc-play", kinds.players);
}

uint64_t bytes_of(std::string_view name) {
    const ObjectClass* found = find_object_class(name);
    return found != nullptr ? found->bytes() : 0;
}

// The part of `count` objects in those of a class that several kinds share.
uint64_t share_of(std::string_view name, uint64_t count) {
    const ObjectClass* found = find_object_class(name);
    return found != nullptr && found->live() > 0 ? found->bytes() * count / found->live() : 0;
}

// What is theirs alone, and their part of clients, connections and players. Stacks and wire logs
// stand by themselves.
void add_other_kinds(net::Json& list, const net::ClientTable& clients) {
    struct Count {
        uint64_t sessions = 0;
        uint64_t players = 0;
    };

    Count rtmp;
    Count flv;
    clients.for_each([&](const net::Client& client) {
        const std::string_view transport = client.transport();
        if (transport == "webrtc") {
            return;
        }
        Count& count = transport == "rtmp" ? rtmp : flv;
        count.sessions++;
        count.players += client.role == net::ClientRole::kPlayer ? 1 : 0;
    });
    const auto shared = [](const Count& count) {
        return share_of("client", count.sessions) + share_of("tcp_connection", count.sessions) +
               share_of("descriptor", count.sessions) + share_of("player", count.players);
    };
    list.push_back(kind_json("rtmp", rtmp.sessions,
                             shared(rtmp) + bytes_of("rtmp_connection") + bytes_of("rtmp_publish") +
                                 bytes_of("rtmp_player")));
    list.push_back(kind_json("flv", flv.sessions, shared(flv) + bytes_of("http_player")));
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
    Uncounted uncounted;
    uncounted.stacks = figures.stacks;
    services_.registry.for_each(
        [&](const stream::Stream& stream) { uncounted.frames += stream.gop_bytes(); });
    uncounted.history = rtc_ != nullptr ? rtc_->history_bytes() : 0;
    net::Json subsystems = net::Json::array();
    uint64_t sum = 0;
    for (const auto& [name, bytes] : bytes_by_subsystem(uncounted)) {
        subsystems.push_back({{"subsystem", name}, {"bytes", bytes}});
        sum += bytes;
    }
    net::Json sessions = net::Json::array();
    add_other_kinds(sessions, services_.clients);
    if (rtc_ != nullptr && rtc_->serving()) {
        add_rtc_kinds(sessions, *rtc_);
    }
    net::Json body = net::envelope(identity_);
    body["data"] = {{"resident_bytes", figures.memory.resident_bytes},
                    {"unique_bytes", figures.unique},
                    {"virtual_bytes", figures.memory.virtual_bytes},
                    {"heap", heap_json(figures.heap)},
                    {"accounted_bytes", sum},
                    {"subsystems", std::move(subsystems)},
                    {"sessions", std::move(sessions)}};
    answer(exchange, body);
}

}  // namespace weir::diagnosis
