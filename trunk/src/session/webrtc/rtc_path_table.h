// Whose datagrams come on which path, of all sessions. Only one session can have a path, and
// anybody can forge the source address of a check, so:
//
//   - a path belongs to the session that has proven that its peer is there (ice/path_proof.h), as
//     long as authentic packets of that session come from there;
//   - until somebody has proven it, or when its owner is silent, it belongs to the last check;
//   - another session gets it at any time by proving that its own peer is there. That happens when
//     a NAT uses its ports again; the first one then has to prove itself anew.
//
// So a session whose peer is there cannot lose a path for good: its next check proves it again.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "proto/ice/lite_agent.h"

namespace weir::session {

// `Owner` has holds_path(MonoTime, const ice::Path&), whether it has proven the path and its peer
// is still heard there, and on_path_lost(MonoTime, const ice::Path&): the path is another's now. It
// gives its paths back with remove() before it goes.
template <typename Owner>
class RtcPathTable {
  public:
    // A valid check of `owner` came on the path.
    void note_check(MonoTime now, const ice::Path& path, Owner& owner) {
        const auto [entry, is_new] = owners_.try_emplace(path, &owner);
        if (!is_new && entry->second != &owner && !entry->second->holds_path(now, path)) {
            take(now, path, owner);
        }
    }

    // The peer of `owner` has proven to be there.
    void take(MonoTime now, const ice::Path& path, Owner& owner) {
        Owner* const before = std::exchange(owners_[path], &owner);
        if (before != nullptr && before != &owner) {
            before->on_path_lost(now, path);
        }
    }

    // It uses the path no more; nothing when the path is another's.
    void remove(const ice::Path& path, const Owner& owner) {
        const auto found = owners_.find(path);
        if (found != owners_.end() && found->second == &owner) {
            owners_.erase(found);
        }
    }

    // Null: nobody's.
    Owner* owner(const ice::Path& path) const {
        const auto found = owners_.find(path);
        return found == owners_.end() ? nullptr : found->second;
    }

    size_t size() const { return owners_.size(); }

    // Whether `is` holds for the link of any path.
    template <typename Is>
    bool any_link(Is&& is) const {
        for (const auto& [path, owner] : owners_) {
            if (is(path.link)) {
                return true;
            }
        }
        return false;
    }

  private:
    struct PathHash {
        size_t operator()(const ice::Path& path) const {
            return std::hash<NetAddress>()(path.remote) ^ path.link;
        }
    };

    std::unordered_map<ice::Path, Owner*, PathHash> owners_;
};

}  // namespace weir::session
