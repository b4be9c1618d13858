#include "app/cluster/configured_origins.h"

#include <utility>

#include "io/deadline.h"

namespace weir::app {

const std::vector<net::SourceUrl>& ConfiguredOrigins::servers_of(
    const stream::StreamKey& key) const {
    static const std::vector<net::SourceUrl> none;
    const config::VhostConfig* const section = config_.find_settings(key.vhost, key.app);
    return section != nullptr && section->name == key.vhost ? section->origins : none;
}

bool ConfiguredOrigins::has(const stream::StreamKey& key) const {
    return !servers_of(key).empty();
}

Result<net::Origin> ConfiguredOrigins::find(const stream::StreamKey& key, io::Deadline deadline) {
    const std::vector<net::SourceUrl>& servers = servers_of(key);
    const auto found = turns_.find(key);
    const size_t turn = found == turns_.end() ? 0 : found->second;
    if (turn < servers.size()) {
        return net::Origin{.url = servers[turn], .socket = {}, .node = {}, .epoch = 0};
    }
    if (found != turns_.end()) {
        turns_.erase(found);  // the first one again, whatever becomes of this
    }
    if (next_ != nullptr) {
        Result<net::Origin> other = next_->find(key, deadline);  // yields
        if (other.ok() || servers_of(key).empty()) {
            return other;
        }
    }
    const std::vector<net::SourceUrl>& now = servers_of(key);
    if (now.empty()) {
        return make_error(ErrorCode::kNotFound, "nobody publishes the stream, as far as is known");
    }
    return net::Origin{.url = now.front(), .socket = {}, .node = {}, .epoch = 0};
}

void ConfiguredOrigins::note_failure(const stream::StreamKey& key, const net::Origin& origin) {
    const std::vector<net::SourceUrl>& servers = servers_of(key);
    const auto found = turns_.find(key);
    const size_t turn = found == turns_.end() ? 0 : found->second;
    if (turn >= servers.size() || servers[turn] != origin.url) {
        if (next_ != nullptr) {
            next_->note_failure(key, origin);
        }
        return;
    }
    const size_t last = next_ != nullptr ? servers.size() : servers.size() - 1;
    if (turn == last) {
        turns_.erase(key);
        return;
    }
    if (turns_.size() >= kMaxRemembered) {
        turns_.clear();
    }
    turns_[key] = turn + 1;
}

}  // namespace weir::app
