// ConfiguredOrigins: the servers of `origin`, then whoever knows more (the registry).
//
// Servers are tried in turn: one that failed is passed over the next time, and behind the last one
// comes `next`, then the first again. Never yields, unless `next` does.
#pragma once

#include <map>

#include "config/config.h"
#include "net/cluster/origins.h"

namespace weir::io {
class Deadline;
}

namespace weir::app {

class ConfiguredOrigins final : public net::Origins {
  public:
    // Streams for which it is remembered which server comes next; more begin with the first.
    static constexpr size_t kMaxRemembered = 10'000;

    // `config` is that of the running server. Must outlive this.
    explicit ConfiguredOrigins(const config::Config& config) : config_(config) {}

    // Must outlive this; null: there is none.
    void use_next(net::Origins* next) { next_ = next; }

    // Whether a server is configured for that stream.
    bool has(const stream::StreamKey& key) const;

    // net::Origins
    Result<net::Origin> find(const stream::StreamKey& key, io::Deadline deadline) override;
    void note_failure(const stream::StreamKey& key, const net::Origin& origin) override;

  private:
    const std::vector<net::SourceUrl>& servers_of(const stream::StreamKey& key) const;

    const config::Config& config_;
    net::Origins* next_ = nullptr;
    std::map<stream::StreamKey, size_t> turns_;  // of streams whose first server has failed
};

}  // namespace weir::app
