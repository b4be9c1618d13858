// The list of what is live, for pages: made at most twice a second, however many ask, and then
// shown to each as far as it may see it.
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
#include "net/api/answer.h"
#include "net/services.h"

namespace weir::app {

class LiveList {
  public:
    static constexpr Millis kFresh{500};     // every page asks, again and again
    static constexpr size_t kMaxTexts = 32;  // that are kept; who sees something else gets his own

    // Both must outlive this.
    LiveList(const net::Services& services, const ProtocolSet& protocols)
        : services_(services), protocols_(protocols) {}

    // Whether streams of that vhost and app are shown. Must not yield.
    using Shows = std::function<bool(const stream::StreamKey& one_of_them)>;

    // Yields. {members of head(), "streams": [..]}; `kind` tells heads of different content apart.
    // Shared, as many may be reading it slowly.
    std::shared_ptr<const std::string> text(const Shows& shows,
                                            const std::string& kind,
                                            const std::function<net::Json()>& head);

  private:
    struct Group {
        stream::StreamKey first;
        std::string items;  // JSON objects, with commas in between
    };

    struct Snapshot {
        MonoTime at{};
        std::vector<Group> groups;
        std::map<std::string, std::shared_ptr<const std::string>> texts;
    };

    std::shared_ptr<Snapshot> fresh();

    net::Services services_;
    const ProtocolSet& protocols_;
    std::shared_ptr<Snapshot> newest_;  // null: none yet
    bool is_made_ = false;              // anew, by somebody: others get the old one
};

}  // namespace weir::app
