#include "app/api/live_list.h"

#include <utility>

#include "app/api/listing.h"
#include "app/api/live_merge.h"
#include "app/api/stream_json.h"
#include "io/deadline.h"
#include "net/private_streams.h"
#include "stream/registry.h"

namespace weir::app {

std::shared_ptr<LiveList::Snapshot> LiveList::fresh() {
    const Millis fresh = others_ ? kFreshAll : kFresh;
    if (newest_ && (is_made_ || MonoClock::now() - newest_->at < fresh)) {
        return newest_;
    }
    // The first one is waited for by all who want it: each would ask the other processes.
    if (is_made_ && !newest_) {
        (void)made_.wait_until(io::Deadline::after(kFirstWait), "the list of streams");
        if (newest_) {
            return newest_;
        }
    }
    is_made_ = true;
    auto made = std::make_shared<Snapshot>();
    const std::vector<net::Json> of_cluster = cluster_ ? cluster_() : std::vector<net::Json>();
    if (others_ || !of_cluster.empty()) {
        add_all(*made, of_cluster);
    } else {
        add_own([&made](const stream::StreamKey& key, const net::Json& item) {
            append(made->groups, key, net::dumped(item));
        });
    }
    made->at = MonoClock::now();
    newest_ = made;
    is_made_ = false;
    made_.notify_all();
    return made;
}

// In order. Yields.
void LiveList::add_own(
    const std::function<void(const stream::StreamKey&, const net::Json&)>& add) const {
    ListText pace;
    stream::StreamKey key;
    while (const stream::Stream* stream = services_.registry.after(key)) {
        key = stream->key();
        const bool is_private =
            services_.private_streams != nullptr && services_.private_streams->has(key);
        if (stream->live() && !is_private) {
            add(key, live_json(*stream, services_, protocols_, MonoClock::now()));
        }
        pace.pause_if_long();
    }
}

// Yields.
void LiveList::add_all(Snapshot& made, const std::vector<net::Json>& of_cluster) const {
    LiveMerge all;
    ListText pace;
    for (const std::string& text : others_ ? others_() : std::vector<std::string>()) {
        made.elsewhere.push_back(LiveLinesView::health_in(text));
        LiveLinesView lines(text);
        while (const auto line = lines.next()) {
            all.add_text(*line);
            pace.pause_if_long();
        }
    }
    add_own([&all](const stream::StreamKey&, const net::Json& item) { all.add(item); });
    for (const net::Json& item : of_cluster) {
        all.add_missing(item);
        pace.pause_if_long();
    }
    stream::StreamKey key;
    while (const auto next = all.after(key)) {
        key = next->first;
        append(made.groups, key, next->second);
        pace.pause_if_long();
    }
}

void LiveList::append(std::vector<Group>& groups,
                      const stream::StreamKey& key,
                      std::string_view item) {
    if (groups.empty() || groups.back().first.vhost != key.vhost ||
        groups.back().first.app != key.app) {
        groups.push_back({key, {}});
    }
    std::string& items = groups.back().items;
    items += items.empty() ? "" : ",\n";
    items += item;
}

std::shared_ptr<const std::string> LiveList::text(const Shows& shows,
                                                  const std::string& kind,
                                                  const Head& head) {
    const std::shared_ptr<Snapshot> list = fresh();
    std::string seen = kind + ":";  // then a letter for each group
    ListText pace;
    for (const Group& group : list->groups) {
        seen += shows(group.first) ? '1' : '0';
        pace.pause_if_long();
    }
    if (const auto kept = list->texts.find(seen); kept != list->texts.end()) {
        return kept->second;
    }
    std::string text = net::dumped(head(list->elsewhere));
    text.pop_back();  // its brace
    text += ",\"streams\":[\n";
    bool first = true;
    for (size_t at = 0; at < list->groups.size(); at++) {
        if (seen[kind.size() + 1 + at] == '1') {
            text += std::exchange(first, false) ? "" : ",\n";
            text += list->groups[at].items;
        }
    }
    text += first ? "]}\n" : "\n]}\n";
    auto made = std::make_shared<const std::string>(std::move(text));
    if (list->texts.size() < kMaxTexts) {
        list->texts.emplace(std::move(seen), made);
    }
    return made;
}

}  // namespace weir::app
