#include "diagnosis/memory_report.h"

#include <utility>

#include "base/object_count.h"

namespace weir::diagnosis {
namespace {

uint64_t bytes_of(std::string_view name) {
    const ObjectClass* found = find_object_class(name);
    return found != nullptr ? found->bytes() : 0;
}

// The part of `count` objects in those of a class that several kinds share.
uint64_t share_of(std::string_view name, uint64_t count) {
    const ObjectClass* found = find_object_class(name);
    return found != nullptr && found->live() > 0 ? found->bytes() * count / found->live() : 0;
}

}  // namespace

MemoryReport::MemoryReport(const net::ClientTable& clients) {
    clients.for_each([this](const net::Client& client) {
        Count& count = counts_[client.transport()];
        count.sessions++;
        count.players += client.role == net::ClientRole::kPlayer ? 1 : 0;
    });
}

void MemoryReport::add_uncounted(std::string_view subsystem, uint64_t bytes) {
    uncounted_[std::string(subsystem)] += bytes;
}

void MemoryReport::add_kind(std::string_view kind,
                            uint64_t sessions,
                            uint64_t bytes,
                            net::Json parts) {
    net::Json json = {{"kind", kind},
                      {"sessions", sessions},
                      {"bytes", bytes},
                      {"bytes_each", sessions > 0 ? bytes / sessions : 0}};
    if (!parts.is_null()) {
        json["parts"] = std::move(parts);
    }
    sessions_.push_back(std::move(json));
}

void MemoryReport::add_tcp_kind(std::string_view kind,
                                std::initializer_list<std::string_view> transports,
                                std::initializer_list<std::string_view> own_classes) {
    Count sum;
    for (const std::string_view transport : transports) {
        const Count& count = counts_[transport];
        sum.sessions += count.sessions;
        sum.players += count.players;
    }
    uint64_t bytes = share_of("client", sum.sessions) + share_of("tcp_connection", sum.sessions) +
                     share_of("descriptor", sum.sessions) + share_of("player", sum.players);
    for (const std::string_view name : own_classes) {
        bytes += bytes_of(name);
    }
    add_kind(kind, sum.sessions, bytes);
}

}  // namespace weir::diagnosis
