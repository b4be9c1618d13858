// The list of what is live, for pages: made at most twice a second, however many ask, and then
// shown to each as far as it may see it.
//
// A server of several processes lists the streams of all of them, or of this one alone. In a
// cluster the streams of other nodes are in the list, too.
//
// Streams are grouped by vhost and app, within which the same rules hold for all. Whoever asks says
// of each group whether it is shown; those who see the same groups share one text.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/protocols/protocol.h"
#include "base/clock.h"
#include "io/signal.h"
#include "net/api/answer.h"
#include "net/services.h"
#include "stream/stream_key.h"

namespace weir::app {

class LiveList {
  public:
    static constexpr Millis kFresh{500};        // every page asks, again and again
    static constexpr Millis kFreshAll{1'000};   // the list of all processes
    static constexpr Millis kFirstWait{2'000};  // for the first list, while somebody makes it
    static constexpr size_t kMaxTexts = 32;  // that are kept; who sees something else gets his own

    // Both must outlive this.
    LiveList(const net::Services& services, const ProtocolSet& protocols)
        : services_(services), protocols_(protocols) {}

    // Of a server of several processes, before the first text(): what the other processes answer to
    // /live.json, each for itself. May yield; bounded in time. Null: this process is the only one.
    using AskOthers = std::function<std::vector<std::string>()>;

    void set_others(AskOthers others) { others_ = std::move(others); }

    // Before the first text(). In a cluster it gives the entries of streams of other nodes. It may
    // yield, and is bounded in time.
    using AskCluster = std::function<std::vector<net::Json>()>;

    void set_cluster(AskCluster cluster) { cluster_ = std::move(cluster); }

    // Whether streams of that vhost and app are shown. Must not yield.
    using Shows = std::function<bool(const stream::StreamKey& one_of_them)>;

    // Members of the answer besides its streams; gets `health` of the other processes. May yield.
    using Head = std::function<net::Json(const std::vector<net::Json>& elsewhere)>;

    // Yields. {members of head(), "streams": [..]}, a stream a line; `kind` tells heads of
    // different content apart. Shared, as many may be reading it slowly.
    std::shared_ptr<const std::string> text(const Shows& shows,
                                            const std::string& kind,
                                            const Head& head);

  private:
    struct Group {
        stream::StreamKey first;
        std::string items;  // JSON objects, a line each, with commas in between
    };

    static void append(std::vector<Group>& groups,
                       const stream::StreamKey& key,
                       std::string_view item);

    struct Snapshot {
        MonoTime at{};
        std::vector<Group> groups;
        std::vector<net::Json> elsewhere;  // `health` of the other processes
        std::map<std::string, std::shared_ptr<const std::string>> texts;
    };

    std::shared_ptr<Snapshot> fresh();
    void add_own(const std::function<void(const stream::StreamKey&, const net::Json&)>& add) const;
    void add_all(Snapshot& made, const std::vector<net::Json>& of_cluster) const;

    net::Services services_;
    const ProtocolSet& protocols_;
    AskOthers others_;
    AskCluster cluster_;
    std::shared_ptr<Snapshot> newest_;  // null: none yet
    bool is_made_ = false;              // anew, by somebody: others get the old one
    io::Signal made_;
};

}  // namespace weir::app
