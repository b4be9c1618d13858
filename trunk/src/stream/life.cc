#include "stream/life.h"

#include <algorithm>

#include "base/check.h"

namespace weir::stream {

std::string_view to_string(PublishEnd why) {
    switch (why) {
        case PublishEnd::kLeft: return "left";
        case PublishEnd::kTakenOver: return "taken_over";
    }
    return {};
}

std::string_view to_string(StartLost why) {
    switch (why) {
        case StartLost::kPublisherCame: return "publisher_came";
        case StartLost::kPublisherGone: return "publisher_gone";
        case StartLost::kVideoAppeared: return "video_appeared";
        case StartLost::kConfigChanged: return "config_changed";
        case StartLost::kGopOverTheCap: return "gop_over_the_cap";
    }
    return {};
}

LifeObservers::~LifeObservers() {
    WEIR_CHECK(telling_ == 0);
}

void LifeObservers::remove(LifeObserver& observer) {
    if (telling_ > 0) {
        std::ranges::replace(list_, &observer, nullptr);
    } else {
        std::erase(list_, &observer);
    }
}

}  // namespace weir::stream
