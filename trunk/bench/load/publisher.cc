#include "bench/load/publisher.h"

#include "io/deadline.h"

namespace weir::load {

void Publisher::run(io::Deadline begin, Millis connect_timeout) {
    if (Error error = io::sleep_until(begin)) {
        return;
    }
    Error error = connect(io::Deadline::after(connect_timeout));
    if (!error) {
        enter(State::kPublishing);
        error = publish();
    }
    if (error && failure_.empty()) {
        failure_ = error.message();
    }
    enter(failure_.empty() || stop_ ? State::kStopped : State::kFailed);
    disconnect();
}

}  // namespace weir::load
