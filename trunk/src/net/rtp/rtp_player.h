// A session that plays from an RtpLog, as its pump sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "net/end_class.h"

namespace weir::net {

// Why a player sends no more for now.
enum class RtpFlush : uint8_t {
    kCaughtUp,  // until the log grows
    kPaced,     // until its pace lets it
    kBlocked,   // its path takes nothing
    kMore,      // its share of this turn is used up
};

class RtpPlayer {
  public:
    // Sends what it can, at most `most_runs` runs of video; kCaughtUp also while it is not
    // connected yet. Must not yield.
    virtual RtpFlush flush(MonoTime now, size_t most_runs) = 0;

    // Once a second. A player that must go says so.
    struct Fate {
        bool go_on = true;
        std::string_view reason;  // a literal
        EndClass why = EndClass::kError;
    };

    virtual Fate look(MonoTime now) = 0;

    // `reason`: a literal. May remove itself.
    virtual void end_playing(EndClass why, std::string_view reason) = 0;

  protected:
    virtual ~RtpPlayer() = default;

  private:
    friend class RtpPump;

    enum class Place : uint8_t { kNowhere, kFlowing, kPaced, kBlocked };

    Place place_ = Place::kNowhere;
    size_t index_ = 0;  // in its list
};

}  // namespace weir::net
