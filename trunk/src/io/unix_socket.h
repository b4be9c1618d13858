// Connections to a unix socket: to another process of this machine, without TCP in between.
#pragma once

#include <memory>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>

#include "base/error.h"

namespace weir::io {

class Deadline;
class OwnFd;
class TcpStream;

inline constexpr size_t kMaxUnixPath = 107;

// A path, or '@' and a name of the abstract namespace, which needs no file. kLimit: it is longer
// than kMaxUnixPath.
struct UnixAddress {
    sockaddr_un raw{};
    socklen_t size = 0;

    static Result<UnixAddress> of(const std::string& path);
};

// Yields. To the socket at that path, at most kMaxUnixPath bytes. The peer is said to be loopback.
// kLimit (the path), kTimeout, kInterrupted, kSystem ("connect to PATH: why").
// `path` as of UnixAddress.
Result<std::unique_ptr<TcpStream>> connect_unix(const std::string& path, Deadline deadline);

// Listens there, for TcpListener::adopt(). Only connections of processes of the same user, or of
// root, are accepted; their peer is said to be loopback. kBusy, kLimit, kSystem.
Result<OwnFd> open_unix_listening(const std::string& path);

// Whether the other end of a unix socket is a process of the same user, or of root.
bool is_of_own_user(int fd);

}  // namespace weir::io
