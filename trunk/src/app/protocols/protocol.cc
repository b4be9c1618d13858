#include "app/protocols/protocol.h"

#include "app/run/listener_service.h"
#include "io/deadline.h"

namespace weir::app {

std::vector<ListenerService> Protocol::listeners() {
    return {};
}

Error Protocol::stop(io::Deadline deadline) {
    (void)deadline;
    return {};
}

}  // namespace weir::app
