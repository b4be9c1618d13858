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

MemoryReport::Count MemoryReport::count_of(std::initializer_list<std::string_view> transports) {
    Count sum;
    for (const std::string_view transport : transports) {
        const Count& count = counts_[transport];
        sum.sessions += count.sessions;
        sum.players += count.players;
    }
    return sum;
}

// Their part of what all sessions over TCP have.
uint64_t MemoryReport::bytes_of_tcp(const Count& count) {
    return share_of("client", count.sessions) + share_of("tcp_connection", count.sessions) +
           share_of("descriptor", count.sessions) + share_of("player", count.players);
}

void MemoryReport::add_tcp_kind(std::string_view kind,
                                std::initializer_list<std::string_view> transports,
                                std::initializer_list<std::string_view> own_classes) {
    const Count sum = count_of(transports);
    uint64_t bytes = bytes_of_tcp(sum);
    for (const std::string_view name : own_classes) {
        bytes += bytes_of(name);
    }
    add_kind(kind, sum.sessions, bytes);
}

void MemoryReport::add_http_kind(std::string_view kind,
                                 std::initializer_list<std::string_view> transports) {
    const Count sum = count_of(transports);
    add_kind(kind, sum.sessions, bytes_of_tcp(sum) + share_of("http_player", sum.sessions));
}

}  // namespace weir::diagnosis
