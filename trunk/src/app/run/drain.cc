#include "app/run/drain.h"

#include <algorithm>

#include <fmt/format.h>

namespace weir::app {

std::string to_string(const Remaining& remaining) {
    return fmt::format("publishers={} players={} others={} remaining={}", remaining.publishers,
                       remaining.players, remaining.others, remaining.total());
}

void Drain::begin(MonoTime now, Millis timeout) {
    if (!begun_) {
        next_report_ = now + kReportPeriod;
    }
    begun_ = true;
    deadline_ = now + timeout;
}

Drain::Step Drain::step(MonoTime now, const Remaining& remaining) {
    if (remaining.total() == 0) {
        return Step::kDrained;
    }
    if (now >= deadline_) {
        return Step::kExpired;
    }
    if (now >= next_report_) {
        next_report_ = now + kReportPeriod;
        return Step::kReport;
    }
    return Step::kWait;
}

Seconds Drain::left(MonoTime now) const {
    return std::chrono::ceil<Seconds>(std::max(Micros(0), deadline_ - now));
}

}  // namespace weir::app
