// Whose datagrams come on which path, of all sessions. Only one session can have a path, and anybody
// can forge the source address of a check, so:
//
//   - a path belongs to the session whose valid check came first, and stays its own;
//   - another session gets it by proving that its peer is there (ice/path_proof.h). That happens
//     when a NAT uses its ports again; the first one then has to prove itself anew;
//   - what its owner gives up belongs to the next valid check.
//
// So a session whose peer is there cannot lose a path for good: its next check proves it again.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "proto/ice/lite_agent.h"

namespace weir::session {

// `Owner` has on_path_lost(MonoTime, const ice::Path&): the path is another's now, who has proven it.
// It gives its paths back with remove() before it goes.
template <typename Owner>
class RtcPathTable {
  public:
    // A valid check of `owner` came on the path.
    void note_check(const ice::Path& path, Owner& owner) { owners_.try_emplace(path, &owner); }

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
