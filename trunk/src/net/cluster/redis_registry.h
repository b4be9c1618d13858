// RedisRegistry: this node in the registry of its cluster. It says that the node lives (a lease,
// once a second), which streams are published here (claims), and finds those of other nodes
// (doc/adr/0014-cluster.md).
//
// Media never waits for it: who publishes and plays goes on whatever becomes of Redis. Five
// coroutines: two connections ("redis", one of them for the lease alone), "node lease",
// "cluster claims" and "cluster events", which has the third connection.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "io/coroutine.h"
#include "io/signal.h"
#include "net/cluster/claims.h"
#include "net/cluster/known_streams.h"
#include "net/cluster/origins.h"
#include "net/redis/redis_client.h"
#include "proto/cluster/claim_book.h"
#include "proto/cluster/relay_list.h"
#include "proto/cluster/scripts.h"
#include "stream/registry.h"

namespace weir::io {
class Deadline;
}

namespace weir::net {

struct RegistryOptions {
    cluster::NodeIdentity self;
    std::string advertise;  // empty: nobody can pull here
    std::string machine;
    std::string version;
    Millis lease{5'000};
    bool accept_without_registry = true;
    // Addresses that nodes may have besides those that is_reachable() lets; null: none.
    std::function<bool(const NetAddress&)> allows_address = {};
};

// What changes of this node; asked once a second.
struct NodeFacts {
    cluster::NodeState state = cluster::NodeState::kServing;
    uint32_t busy_permille = 0;
    uint64_t bits_per_second = 0;
};

struct RegistryStatus {
    bool up = false;
    int64_t since_ms = 0;    // wall clock
    std::string last_error;  // may hold bytes of Redis, escaped
    bool lease = false;
    std::optional<Micros> lease_age;  // since it was extended last; none: never
    bool name_taken = false;          // another node has this node's name
    size_t claims = 0;
    size_t provisional = 0;
};

struct RegistryCounts {
    uint64_t won = 0;
    uint64_t refused = 0;      // another node had the name
    uint64_t lost = 0;         // to another node, while somebody published here
    uint64_t provisional = 0;  // accepted while Redis was away
    uint64_t unknown = 0;      // refused while Redis was away
    uint64_t lookups = 0;      // that Redis was asked
    uint64_t epoch_conflicts = 0;
    uint64_t unreadable = 0;  // records, leases and events that do not hold
    RedisClientStats redis;   // of both clients
};

class RedisRegistry final : public Claims, public Origins, private stream::LifeObserver {
  public:
    // Upper bound of claim(): its turn, and a Redis that just fails.
    static constexpr Millis kClaimWait{1'000};
    // At the start, claims wait so long for the first connection, before they count Redis as away.
    static constexpr Millis kFirstWait{600};
    static constexpr Millis kBeatJitter{100};
    // An older claim than the newest that was seen is raised when it has stood for so long: by then
    // every node that reaches Redis has renewed what it has.
    static constexpr Millis kOlderWait{3'000};

    // All must outlive this.
    RedisRegistry(RedisDialer& dialer,
                  stream::Registry& streams,
                  RandomSource& random,
                  RegistryOptions options);
    ~RedisRegistry();  // stop() must have been called, when start() was
    RedisRegistry(const RedisRegistry&) = delete;
    RedisRegistry& operator=(const RedisRegistry&) = delete;

    // Before start(). None may yield.
    // What this node says of itself.
    std::function<NodeFacts()> facts = {};
    // Another node has claimed a stream.
    std::function<void(const stream::StreamKey&, uint64_t epoch)> on_claimed_elsewhere = {};
    // The stream is elsewhere now, or nowhere: whoever pulls it should ask again.
    std::function<void(const stream::StreamKey&)> on_origin_changed = {};
    // Another node's API wants the stream's publisher, who is here, to be ended.
    std::function<void(const stream::StreamKey&, const std::string& node)> on_kick = {};

    Error start();

    // Yields. Gives back the lease and all claims, where Redis answers by then.
    void stop(io::Deadline deadline);

    // Claims
    Error claim(const stream::StreamKey& key, stream::PublishConflict conflict) override;
    void give_up(const stream::StreamKey& key) override;
    std::optional<uint64_t> epoch(const stream::StreamKey& key) const override;

    // Origins
    Result<Origin> find(const stream::StreamKey& key, io::Deadline deadline) override;
    void note_failure(const stream::StreamKey& key, const Origin& origin) override;

    // Whether nodes of the cluster may be at that address: for who connects by a name.
    bool may_connect(const NetAddress& address) const;

    // Yields. Tells all nodes that the stream's publisher, whoever has it, is to be ended. A hint:
    // nobody says whether it was heard. kNotFound: nobody publishes it; kTimeout: Redis is away.
    Error kick(const stream::StreamKey& key);

    const RegistryOptions& options() const { return options_; }

    RegistryStatus status() const;
    RegistryCounts counts() const;

    RedisDialer& dialer() { return dialer_; }

  private:
    struct Lookup {
        bool done = false;
        std::optional<Origin> origin;
        Error error;
        io::Signal signal;
    };

    // stream::LifeObserver
    void on_publish(stream::Stream& stream) override;
    void on_unpublish(stream::Stream& stream, stream::PublishEnd why) override;

    void on_state(bool up, const Error& why);

    // The lease.
    void keep_lease();
    void beat();
    void take_beat(cluster::Beat beat);
    cluster::NodeRecord node_record() const;

    // Claims.
    void keep_claims();
    bool renew_some();
    bool release_some();
    bool say_relays();
    void wait_for_first();
    void take_renewal(const cluster::ClaimBook::Due& due, const redis::Reply& reply);
    Error claim_unknown(const stream::StreamKey& key, const std::string& name, const Error& why);
    void lose(const std::string& name, uint64_t epoch, std::string_view node);
    void end_publisher(const stream::StreamKey& key, std::string_view why);
    uint64_t provisional_epoch(const std::string& name);

    // Streams of other nodes.
    Result<Origin> look_up(const std::string& name, io::Deadline deadline);
    Result<Origin> take_lookup(const std::string& name,
                               cluster::LookupAnswer answer,
                               io::Deadline deadline);
    Error take_older(const std::string& name,
                     const cluster::StreamRecord& record,
                     io::Deadline deadline);
    Result<Origin> last_known(const std::string& name, const Error& why);
    void note_epoch(const std::string& name, uint64_t epoch);
    bool may_pull_from(const http::Url& url) const;
    void note_unreadable(std::string_view what);

    // Events.
    void listen();
    Error listen_once();
    void take_event(const redis::Reply& push);

    RedisDialer& dialer_;
    stream::Registry& streams_;
    RandomSource& random_;
    RegistryOptions options_;
    RedisClient client_;
    RedisClient beats_;
    cluster::ClaimBook book_;
    cluster::RelayList relays_;
    KnownStreams known_;
    std::map<std::string, std::shared_ptr<Lookup>> lookups_;  // under way: the waiting share them
    RegistryCounts counts_;

    bool available_ = false;
    bool told_away_ = false;
    int64_t started_ms_ = 0;  // wall clock
    int64_t since_ms_ = 0;
    std::string last_error_;
    bool held_ = false;  // the lease, at some time
    bool name_taken_ = false;
    std::optional<MonoTime> last_beat_;

    io::TaskGroup tasks_;
    io::Signal claims_due_;
    io::Signal beat_due_;
    io::Signal first_;  // Redis has been reached, or could not be
    bool tried_ = false;
    MonoTime started_at_{};
    bool started_ = false;
    bool stopping_ = false;
    log::Throttle unreadable_{Millis(60'000)};
    log::Throttle taken_{Millis(60'000)};
};

// How the registry writes a stream.
std::string registry_text(const stream::StreamKey& key);

}  // namespace weir::net
