// Messages between processes of one server: their sockets, and the descriptors that come with them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <sys/socket.h>
#include <sys/types.h>

#include "base/error.h"
#include "io/own_fd.h"

namespace weir::app {

// Where a process takes messages (io::UnixAddress).
using AddressOf = std::function<std::string(uint32_t process)>;

// A socket for messages to that address (io::UnixAddress), of which the kernel says whose they are.
// `purpose`: for the error, "connections of other processes".
Result<io::OwnFd> open_for_messages(const std::string& address, std::string_view purpose);

struct Attached {
    io::OwnFd descriptor;       // none: none came, or more than one, which are closed then
    std::optional<uid_t> user;  // of the sender, where the socket asks the kernel for it
};

// All descriptors of the message are taken over.
Attached take_attached(msghdr& message);

}  // namespace weir::app
