// ClaimBook: which names this node has claimed, and what is to be done about each at the registry.
// A state machine without I/O: time is a parameter, the owner runs the scripts and tells the
// answers.
//
//            begin()              on_claimed()
//   (none) ----------> asking ------------------> held <--+
//                        |  |                     |  |    | on_claimed(), on_renewed()
//           on_refused() |  | on_unknown()        |  +----+
//                        v  +--> provisional -----+--> (none): on_lost(), or nobody needs it any
//                      (none)                                  more, then it is to be released
//
// A claim is needed while somebody who began has not given up (a place each), and while the stream
// is published here. Whoever publishes while the registry is away has a provisional one: it is
// claimed when the registry is back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace weir::cluster {

// Names that are to be released while the registry is away. Those beyond run out by themselves.
inline constexpr size_t kMaxReleases = 10'000;
inline constexpr Millis kRenewPeriod{20'000};
// So long a record could still be there, in a registry that is behind. As many are remembered.
inline constexpr Millis kReleaseMemory{60'000};

class ClaimBook {
  public:
    struct Due {
        std::string stream;
        bool provisional = false;  // to be claimed, not renewed
        bool takeover = false;     // of that claim
        uint64_t epoch = 0;        // of what is renewed; the least of what is claimed
        uint64_t since_ms = 0;
    };

    struct Release {
        std::string stream;
        uint64_t epoch = 0;  // 0: any of this node
    };

    // Somebody will publish: a place is taken, give_up() gives it back. True: held already, there
    // is nothing to ask.
    bool begin(const std::string& stream, bool takeover);

    // The answers to what begin() or due() made the owner ask. Of a claim that is not needed any
    // more they make a release.
    void on_claimed(const std::string& stream, uint64_t epoch, uint64_t since_ms, MonoTime now);
    // The place of begin() is given back.
    void on_refused(const std::string& stream);
    // The registry could not be asked, and the publisher goes on under this epoch.
    void on_unknown(const std::string& stream, uint64_t epoch, uint64_t since_ms);
    void on_renewed(const std::string& stream, uint64_t epoch, MonoTime now);
    // Another node has the name. True: somebody here publishes, and is to be ended. False as well
    // where this node has a higher epoch by now.
    bool on_lost(const std::string& stream, uint64_t epoch);

    void give_up(const std::string& stream);
    void on_publish(const std::string& stream);
    void on_unpublish(const std::string& stream);

    // The registry is back, or may have forgotten: all is due. So is what was released in the last
    // kReleaseMemory: the registry may be a copy of earlier, which has it again.
    void renew_all(MonoTime now);
    void renew_now(const std::string& stream);

    // Claims whose time has come, at most so many; they are not due again before kRenewPeriod, or
    // before renew_all().
    std::vector<Due> due(MonoTime now, size_t most);
    std::optional<MonoTime> next_due() const;

    std::vector<Release> take_releases(size_t most);
    // These were said.
    void on_released(std::vector<Release> releases, MonoTime now);
    // What could not be said comes again, unless the name was claimed since.
    void put_back(std::vector<Release> releases);

    bool has_releases() const { return !releases_.empty(); }

    // None: not claimed here, or asked for only.
    std::optional<uint64_t> epoch(const std::string& stream) const;

    // Held and provisional ones.
    size_t size() const;

    size_t provisional() const;

  private:
    enum class State : uint8_t { kAsking, kHeld, kProvisional };

    struct Claim {
        State state = State::kAsking;
        bool takeover = false;
        bool published = false;
        bool lost = false;  // whoever has a place did not publish yet
        uint32_t places = 0;
        uint64_t epoch = 0;
        uint64_t since_ms = 0;
        MonoTime renew_at{};
    };

    using Map = std::map<std::string, Claim>;

    struct Released {
        uint64_t epoch = 0;
        MonoTime at{};
    };

    void drop_if_unneeded(Map::iterator at);
    void forget_released(MonoTime now);

    Map claims_;
    std::map<std::string, uint64_t> releases_;
    std::map<std::string, Released> released_;
    MonoTime forgotten_at_{};  // released_ was looked through
};

}  // namespace weir::cluster
