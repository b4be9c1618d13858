#include "net/merge_window.h"

#include <algorithm>
#include <array>

namespace weir::net {
namespace {

// Below the distance of the messages a window saves nothing (30 to 70 messages a second are usual),
// so the first steps are large.
constexpr std::array<int, 5> kSteps = {0, 20, 40, 70, 100};

}  // namespace

void MergeWindow::adapt(double busy) {
    auto step = std::ranges::find(kSteps, static_cast<int>(window_.count()));
    if (busy > kWiden && step + 1 != kSteps.end()) {
        ++step;
    } else if (busy < kNarrow && step != kSteps.begin()) {
        --step;
    }
    window_ = Millis(*step);
}

}  // namespace weir::net
