// MessageSocket: one end of the connection between a supervisor and a process, for messages with a
// descriptor or without. Nothing here waits.
#pragma once

#include <array>
#include <optional>

#include "app/processes/process_message.h"
#include "base/error.h"
#include "io/own_fd.h"

namespace weir::app {

class MessageSocket {
  public:
    MessageSocket() = default;

    explicit MessageSocket(io::OwnFd fd) : fd_(std::move(fd)) {}

    // Both ends; the second one stays open over exec. kSystem.
    static Result<std::array<io::OwnFd, 2>> pair();

    int fd() const { return fd_.get(); }

    bool open() const { return static_cast<bool>(fd_); }

    void close() { fd_.reset(); }

    // `attached`: a descriptor that the other side gets a copy of; -1: none. kFull: the other side
    // does not read; kClosed, kSystem.
    Error send(const ProcessMessage& message, int attached = -1);

    struct Received {
        ProcessMessage message;
        io::OwnFd attached;
    };

    // None: nothing is there. kClosed: the other side has gone; kMalformed, kLimit: what it sent is
    // no message.
    Result<std::optional<Received>> receive();

  private:
    io::OwnFd fd_;
};

}  // namespace weir::app
