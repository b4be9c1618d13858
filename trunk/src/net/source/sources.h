// Sources: all sources and forwards of the process. It hears of the life of all streams, begins and
// ends what the configuration says of them, and answers for the API.
//
// One coroutine looks after all ("sources"); each run has one of its own ("source"), so what waits
// or backs off has none.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "io/coroutine.h"
#include "io/signal.h"
#include "net/source/source.h"
#include "net/source/wait.h"
#include "stream/life.h"

namespace weir::io {
class Deadline;
}

namespace weir::stream {
class Stream;
}

namespace weir::net {

// What the configuration says; asked at each start and after each reload. None may yield.
struct SourceConfig {
    // Those whose stream is named.
    std::function<std::vector<SourceSpec>()> named = {};
    // Of a stream that somebody asks for and that is not named; none: nobody brings it.
    std::function<std::optional<SourceSpec>(const stream::StreamKey&)> for_any = {};
    // The relay of a stream whose named source another node runs; none: there are no other nodes.
    std::function<std::optional<SourceSpec>(const stream::StreamKey&)> stand_in = {};
    // Where a stream that is published here goes.
    std::function<std::vector<SourceSpec>(const stream::StreamKey&)> forwards = {};
    // Sources of streams that are not named, at most.
    std::function<size_t()> max_sources = [] { return size_t{1000}; };
    // How long a source is kept for somebody who asks and is not there yet.
    Millis asker_waits = kSourceWait;
};

struct SourceStats {
    uint64_t refused = 0;    // over max_sources
    uint64_t displaced = 0;  // relays that never came up, for the place of another
    uint64_t attempts = 0;
    uint64_t failures = 0;
    uint64_t bytes = 0;  // received by sources, sent by forwards
};

class Sources final : private stream::LifeObserver {
  public:
    // Between two tries of a stream, because of events of a registry.
    static constexpr Millis kEventSpacing{100};

    // Of one group, with other senders, interfaces or FEC, that players ask for at the same time.
    static constexpr size_t kMaxPerGroup = 4;

    // `services.wake` is set here. All must outlive this.
    explicit Sources(SourceServices services);
    ~Sources();  // stop() must have been called, when start() was
    Sources(const Sources&) = delete;
    Sources& operator=(const Sources&) = delete;

    // Before start(): the protocol for URLs of that scheme. Must outlive this.
    void add(SourceRole role, std::string scheme, SourceProtocol& protocol);

    // `config` must be good until stop().
    Error start(SourceConfig config);

    // The configuration has changed: new sources begin, those that it no longer names end, and
    // those that are otherwise than before begin anew. Never yields.
    void reconfigure();

    // The protocol for that scheme; null: there is none.
    SourceProtocol* protocol(SourceRole role, const std::string& scheme) const;

    // ---- what a registry hears of streams that are published at other nodes; none yields ----

    // The pull of that stream; null: there is none. Good until the next yield.
    const Source* pull_of(const stream::StreamKey& key) const;

    // The stream may be had now: a pull that backs off tries at once. Where viewers wait and none
    // is there (any more), it begins.
    void retry_now(const stream::StreamKey& key);

    // Viewers may wait for a stream that has gone meanwhile: where no pull of it is there, it
    // begins. One that is there tries again when it is time.
    Source* begin_missing(const stream::StreamKey& key);

    // The node that the stream is pulled from has lost it: that run ends, and the next one asks
    // anew. A run whose claim is of `epoch` or newer goes on, unless that is 0.
    void end_run(const stream::StreamKey& key, uint64_t epoch);

    // An operator wants the source that publishes that stream, or is about to, to end: it backs
    // off, and whoever waits for the name may have it. Not one that brings it from another node.
    // False: there is none.
    bool kick(const stream::StreamKey& key);

    // For a drain: no source begins for who comes from now on. Who has a stream goes on having it.
    void start_drain() { draining_ = true; }

    // Yields. Ends all.
    void stop(io::Deadline deadline);

    // In order of role and stream key. `visit(const Source&)` must not yield.
    template <typename Visit>
    void for_each(Visit&& visit) const {
        for (const auto& [key, source] : sources_) {
            visit(*source);
        }
    }

    size_t size() const { return sources_.size(); }

    // Of those that there are and were.
    SourceStats stats(SourceRole role) const;

  private:
    // A stream has one pull, perhaps a relay that stands in for it, and any number of forwards.
    struct Key {
        SourceRole role;
        stream::StreamKey stream;
        std::string url;  // of forwards; of a relay that stands in "relay"

        auto operator<=>(const Key&) const = default;
    };

    using Map = std::map<Key, std::unique_ptr<Source>>;

    static Key key_of(const SourceSpec& spec);
    bool is_one_too_many(const SourceSpec& spec) const;

    // stream::LifeObserver
    void on_publish(stream::Stream& stream) override;
    void on_unpublish(stream::Stream& stream, stream::PublishEnd why) override;
    void on_demand(stream::Stream& stream) override;
    void on_demand_gone(stream::Stream& stream) override;
    bool on_wanted(const stream::StreamKey& key) override;

    // Null: there is none.
    Source* find(const Key& key) const;
    Source* find_pull(const stream::StreamKey& key) const;
    Source* find_stand_in(const stream::StreamKey& key) const;
    // What another node's stream would come by; null: there is none.
    Source* find_relay(const stream::StreamKey& key) const;
    // Of viewers here, for the stand-in of a source that another node runs. Null: it has none.
    Source* ask_stand_in(const stream::StreamKey& key, bool wanted, MonoTime now);
    Source* make_unnamed(SourceSpec spec, MonoTime now);
    bool displace_one(MonoTime now);
    // That, or a new one where the configuration has one for any stream; null: none.
    Source* pull_for(const stream::StreamKey& key, MonoTime now);
    Source* asked_pull(const stream::StreamKey& key, MonoTime now);
    Source* make(SourceSpec spec, MonoTime now);
    bool is_missed(const stream::StreamKey& key) const;
    void begin_forwards(stream::Stream& stream, MonoTime now);
    void adopt_stream(Source& source, MonoTime now);
    void retire(Map::iterator at, MonoTime now);
    void run();
    std::optional<MonoTime> look_after_all(MonoTime now);
    void wake();

    SourceServices services_;
    SourceConfig config_;
    std::map<std::pair<SourceRole, std::string>, SourceProtocol*> protocols_;
    Map sources_;
    std::vector<std::unique_ptr<Source>> retired_;  // until their runs have ended
    size_t unnamed_ = 0;
    SourceStats gone_[kSourceRoles];
    io::Coroutine keeper_;
    io::Signal signal_;
    bool woken_ = false;
    bool started_ = false;
    bool draining_ = false;
    bool stopping_ = false;
    log::Throttle full_{Millis(1000)};
};

}  // namespace weir::net
