// The descriptors that came with a message.
#pragma once

#include <optional>

#include <sys/socket.h>
#include <sys/types.h>

#include "io/own_fd.h"

namespace weir::app {

struct Attached {
    io::OwnFd descriptor;       // none: none came, or more than one, which are closed then
    std::optional<uid_t> user;  // of the sender, where the socket asks the kernel for it
};

// All descriptors of the message are taken over.
Attached take_attached(msghdr& message);

}  // namespace weir::app
