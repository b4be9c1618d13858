#include "app/cluster/registry_list.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "io/deadline.h"
#include "net/cluster/redis_registry.h"
#include "net/redis/redis_client.h"
#include "proto/cluster/names.h"
#include "proto/cluster/records.h"

namespace weir::app {
namespace {

constexpr std::string_view kScanCount = "1000";
constexpr size_t kMaxValue = cluster::kMaxNodeRecord;

}  // namespace

std::optional<size_t> RegistryList::find(std::string_view name) const {
    const auto found = std::ranges::lower_bound(names, name);
    return found != names.end() && *found == name
               ? std::optional(static_cast<size_t>(found - names.begin()))
               : std::nullopt;
}

bool RegistryList::lives(std::string_view node, std::string_view boot) const {
    const std::optional<size_t> at = find(node);
    return at && split_once(values[*at], ' ').before == boot;
}

Error read_registry(net::RedisRegistry& registry, std::string_view prefix, RegistryList& out) {
    const io::Deadline deadline = io::Deadline::after(kRegistryListTime);
    WEIR_TRY_ASSIGN(const std::unique_ptr<net::RedisLink> link, registry.dialer().dial());
    std::string cursor = "0";
    std::vector<std::string> keys;
    do {
        WEIR_TRY_ASSIGN(redis::Reply reply,
                        link->ask({"SCAN", cursor, "MATCH", std::string(prefix) + "*", "COUNT",
                                   std::string(kScanCount)},
                                  deadline));
        if (!reply.is_array(2)) {
            return make_error(ErrorCode::kDenied, "Redis refuses SCAN: {}",
                              log::escaped(reply.text));
        }
        cursor = reply.elements[0].text;
        for (redis::Reply& key : reply.elements[1].elements) {
            if (key.text.starts_with(prefix) && key.text.size() <= cluster::kMaxStreamText + 16) {
                keys.push_back(std::move(key.text));
            }
        }
    } while (cursor != "0" && keys.size() < kMaxRegistryKeys);
    out.whole = cursor == "0";
    std::ranges::sort(keys);
    keys.erase(std::ranges::unique(keys).begin(), keys.end());  // SCAN may say one twice
    for (size_t begin = 0; begin < keys.size(); begin += net::RedisClient::kMaxBatch) {
        const size_t end = std::min(keys.size(), begin + net::RedisClient::kMaxBatch);
        std::vector<redis::Command> commands;
        for (size_t i = begin; i < end; i++) {
            // No more than a record may have, whatever is there.
            commands.push_back({"GETRANGE", keys[i], "0", std::to_string(kMaxValue)});
        }
        WEIR_TRY_ASSIGN(std::vector<redis::Reply> replies, link->exchange(commands, deadline));
        for (size_t i = begin; i < end; i++) {
            if (replies[i - begin].type == redis::ReplyType::kText) {
                out.names.push_back(keys[i].substr(prefix.size()));
                out.values.push_back(std::move(replies[i - begin].text));
            }
        }
    }
    return {};
}

}  // namespace weir::app
