// ProcessStreams: the streams of all processes of this server: which process has the publisher, and
// where a stream can be pulled within the machine. In front of a cluster's registry, where there is
// one: a name is claimed here first, and then there.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "app/processes/process_link.h"
#include "app/processes/process_placement.h"
#include "base/object_count.h"
#include "net/cluster/claims.h"
#include "net/cluster/origins.h"
#include "stream/registry.h"

namespace weir::io {
class Deadline;
}

namespace weir::app {

class ProcessStreams final : public net::Claims, public net::Origins, private stream::LifeObserver {
  public:
    // All must outlive this.
    ProcessStreams(ProcessLink& link,
                   const ProcessPlacement& placement,
                   stream::Registry& registry);
    ~ProcessStreams();
    ProcessStreams(const ProcessStreams&) = delete;
    ProcessStreams& operator=(const ProcessStreams&) = delete;

    // Of the cluster; both must outlive this.
    void use(net::Claims* claims, net::Origins* origins) {
        cluster_claims_ = claims;
        cluster_origins_ = origins;
    }

    // Another process has the stream now (an epoch), or has lost it (0). Must not yield.
    std::function<void(const stream::StreamKey&, uint64_t epoch)> on_owner = {};

    // Nobody has the stream, now that this process has given it up. Must not yield.
    std::function<void(const stream::StreamKey&)> on_given_up = {};

    // Some names have another home now (ProcessLink::home_of). Must not yield.
    std::function<void()> on_homes = {};

    // Whether this process brings the stream for the others, when nobody publishes it.
    bool is_home(const stream::StreamKey& key) const {
        return placement_.home_of(key) == link_.seat().index;
    }

    // Where the other processes pull from this one: a name of the abstract namespace.
    static std::string socket_of(const ProcessLink& link, uint32_t process);

    // net::Claims
    Error claim(const stream::StreamKey& key, stream::PublishConflict conflict) override;
    void give_up(const stream::StreamKey& key) override;
    std::optional<uint64_t> epoch(const stream::StreamKey& key) const override;

    // net::Origins
    Result<net::Origin> find(const stream::StreamKey& key, io::Deadline deadline) override;
    void note_failure(const stream::StreamKey& key, const net::Origin& origin) override;

  private:
    struct Held {
        uint64_t epoch = 0;
        size_t places = 0;  // claims that were not given up
    };

    // stream::LifeObserver
    void on_unpublish(stream::Stream& stream, stream::PublishEnd why) override;

    void take_owner(const stream::StreamKey& key,
                    const StreamOwner& owner,
                    const StreamOwner& before);
    void give_up_here(const stream::StreamKey& key);
    void release_if_unused(const stream::StreamKey& key);

    ProcessLink& link_;
    const ProcessPlacement& placement_;
    stream::Registry& registry_;
    net::Claims* cluster_claims_ = nullptr;
    net::Origins* cluster_origins_ = nullptr;
    std::map<stream::StreamKey, Held> held_;
};

}  // namespace weir::app
