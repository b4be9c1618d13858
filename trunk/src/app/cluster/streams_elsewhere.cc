#include "app/cluster/streams_elsewhere.h"

#include <algorithm>
#include <utility>

#include "app/api/listing.h"
#include "app/cluster/registry_list.h"
#include "proto/cluster/names.h"
#include "proto/cluster/records.h"

namespace weir::app {

std::shared_ptr<const std::vector<StreamElsewhere>> StreamsElsewhere::list() {
    const net::RedisRegistry* const registry = cluster_.registry();
    if (registry == nullptr || !registry->status().up || MonoClock::now() < due_) {
        return newest_;
    }
    due_ = MonoClock::now() + kFresh;
    auto made = std::make_shared<std::vector<StreamElsewhere>>();
    if (const Error failed = read(*made)) {
        log::throttled(failed_log_, log::Level::kWarn, "streams of the cluster not listed: {}",
                       failed.message());
        return newest_;
    }
    newest_ = std::move(made);
    return newest_;
}

// Yields.
Error StreamsElsewhere::read(std::vector<StreamElsewhere>& out) {
    RegistryList nodes;
    RegistryList streams;
    WEIR_TRY(read_registry(*cluster_.registry(), cluster::kNodePrefix, nodes));
    WEIR_TRY(read_registry(*cluster_.registry(), cluster::kStreamPrefix, streams));
    ListText pace;
    for (size_t i = 0; i < streams.names.size() && out.size() < kMaxStreams; i++) {
        const auto record = cluster::StreamRecord::parse(streams.values[i]);
        const auto name = cluster::parse_stream_text(streams.names[i]);
        if (record && name && record->boot != cluster_.boot() &&
            nodes.lives(record->node, record->boot)) {
            out.push_back({{name->vhost, name->app, name->name},
                           record->node,
                           static_cast<int64_t>(record->since_ms)});
        }
        pace.pause_if_long();
    }
    std::ranges::sort(out, {}, &StreamElsewhere::key);
    return {};
}

}  // namespace weir::app
