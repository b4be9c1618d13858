// StreamsElsewhere: what is published at other nodes of the cluster, for lists of what is live. A
// player that asks for one of them here gets it: it is pulled.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/cluster/cluster_service.h"
#include "base/clock.h"
#include "base/log.h"
#include "stream/stream_key.h"

namespace weir::app {

struct StreamElsewhere {
    stream::StreamKey key;
    std::string node;      // where it is published
    int64_t since_ms = 0;  // wall clock
};

class StreamsElsewhere {
  public:
    static constexpr Millis kFresh{4'000};        // the registry is read no more often
    static constexpr size_t kMaxStreams = 2'000;  // that are listed

    // Must outlive this.
    explicit StreamsElsewhere(ClusterService& cluster) : cluster_(cluster) {}

    // In order of their keys. Yields where the registry is read, for kRegistryListTime at most; by
    // one caller at a time, others get what was there before. Without a registry: none; while it is
    // away: what was there before.
    std::shared_ptr<const std::vector<StreamElsewhere>> list();

  private:
    Error read(std::vector<StreamElsewhere>& out);

    ClusterService& cluster_;
    std::shared_ptr<const std::vector<StreamElsewhere>> newest_ =
        std::make_shared<std::vector<StreamElsewhere>>();
    MonoTime due_{};
    log::Throttle failed_log_{Millis(60'000)};
};

}  // namespace weir::app
