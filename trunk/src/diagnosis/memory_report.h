// MemoryReport: what each part of the server adds to GET /api/v1/memory. Nothing here yields.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "net/api/answer.h"
#include "net/client_table.h"

namespace weir::diagnosis {

class MemoryReport {
  public:
    // Walks all clients once.
    explicit MemoryReport(const net::ClientTable& clients);

    // Bytes of a subsystem that no counted class has: they change with every message.
    void add_uncounted(std::string_view subsystem, uint64_t bytes);

    // Sessions of one kind, and the live bytes of all of them. `parts`: what these are, by name.
    void add_kind(std::string_view kind,
                  uint64_t sessions,
                  uint64_t bytes,
                  net::Json parts = nullptr);

    // Sessions over TCP with these transports. Their bytes are those of `own_classes`, and their
    // part of clients, connections and players. Stacks and wire logs stand by themselves.
    void add_tcp_kind(std::string_view kind,
                      std::initializer_list<std::string_view> transports,
                      std::initializer_list<std::string_view> own_classes);

    // Players over HTTP: the same, and their part of what all formats have.
    void add_http_kind(std::string_view kind, std::initializer_list<std::string_view> transports);

    const std::map<std::string, uint64_t, std::less<>>& uncounted() const { return uncounted_; }

    net::Json take_sessions() { return std::move(sessions_); }

  private:
    struct Count {
        uint64_t sessions = 0;
        uint64_t players = 0;
    };

    Count count_of(std::initializer_list<std::string_view> transports);
    static uint64_t bytes_of_tcp(const Count& count);

    std::map<std::string_view, Count> counts_;  // by transport, of literals
    std::map<std::string, uint64_t, std::less<>> uncounted_;
    net::Json sessions_ = net::Json::array();
};

}  // namespace weir::diagnosis
