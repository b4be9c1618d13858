#include "app/api/live_list.h"

#include <utility>

#include "app/api/listing.h"
#include "app/api/stream_json.h"

namespace weir::app {

std::shared_ptr<LiveList::Snapshot> LiveList::fresh() {
    if (newest_ && (is_made_ || MonoClock::now() - newest_->at < kFresh)) {
        return newest_;
    }
    is_made_ = true;
    auto made = std::make_shared<Snapshot>();
    ListText pace;
    stream::StreamKey key;
    while (const stream::Stream* stream = services_.registry.after(key)) {
        key = stream->key();
        const bool is_private =
            services_.private_streams != nullptr && services_.private_streams->has(key);
        if (stream->live() && !is_private) {
            std::vector<Group>& groups = made->groups;
            if (groups.empty() || groups.back().first.vhost != key.vhost ||
                groups.back().first.app != key.app) {
                groups.push_back({key, {}});
            }
            std::string& items = groups.back().items;
            items += items.empty() ? "" : ",";
            items += net::dumped(live_json(*stream, services_, protocols_, MonoClock::now()));
        }
        pace.pause_if_long();
    }
    made->at = MonoClock::now();
    newest_ = made;
    is_made_ = false;
    return made;
}

std::shared_ptr<const std::string> LiveList::text(const Shows& shows,
                                                  const std::string& kind,
                                                  const std::function<net::Json()>& head) {
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
    std::string text = net::dumped(head());
    text.pop_back();  // its brace
    text += ",\"streams\":[";
    bool first = true;
    for (size_t at = 0; at < list->groups.size(); at++) {
        if (seen[kind.size() + 1 + at] == '1') {
            text += std::exchange(first, false) ? "" : ",";
            text += list->groups[at].items;
        }
    }
    text += "]}\n";
    auto made = std::make_shared<const std::string>(std::move(text));
    if (list->texts.size() < kMaxTexts) {
        list->texts.emplace(std::move(seen), made);
    }
    return made;
}

}  // namespace weir::app
