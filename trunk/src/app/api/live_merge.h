// What several processes of a server answer to /live.json, as one answer. Pure.
//
// LiveMerge: their streams as one list.
//
// A stream that is relayed from process to process is live in each of them: it is one in the list,
// as its publisher's process shows it, which has it longest, with the players of all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/api/answer.h"
#include "stream/stream_key.h"

namespace weir::app {

class LiveMerge {
  public:
    // `item`: of live_json(). One without a name is left out.
    void add(const net::Json& item) { add(item, net::dumped(item)); }

    // One that is not in the list yet; else nothing.
    void add_missing(const net::Json& item);

    // As add(), as text.
    void add_text(std::string_view item);

    // The first one behind `key`, and its text; in order of vhost, app and name. None: that was the
    // last.
    std::optional<std::pair<stream::StreamKey, std::string>> after(
        const stream::StreamKey& key) const;

    size_t size() const { return streams_.size(); }

  private:
    struct Entry {
        std::string text;
        int64_t live_ms = 0;
        uint64_t players = 0;
        bool several = false;  // `text` does not say the players of all
    };

    void add(const net::Json& item, std::string text);

    std::map<stream::StreamKey, Entry> streams_;
};

// Reads what another process answers to /live.json, line by line: the head, then a stream a line.
class LiveLinesView {
  public:
    explicit LiveLinesView(std::string_view text) : rest_(text) {}

    // The next stream; none: there is none left.
    std::optional<std::string_view> next();

    // `health` of the head; null: it says none.
    static net::Json health_in(std::string_view text);

  private:
    std::string_view rest_;
};

// `health` of all: sums, but for times, which are the first one's, and `busy`, which is that of the
// busiest. Histories are laid over each other from their newest points on. There is a first one;
// those that are no objects are left out.
net::Json merge_health(const std::vector<net::Json>& all);

}  // namespace weir::app
