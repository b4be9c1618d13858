// One edge-triggered epoll instance for the process; ST sees only its descriptor
// (doc/adr/0002-state-threads.md).
//
// A descriptor is registered once, for reading and writing. Handlers are called from the reactor's
// coroutine and must not yield. An event is matched to its registration by slot and generation: one
// of a closed descriptor can never reach the descriptor's successor.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace weir::io {

// Edge events. kHangup comes with kReadable: read until EAGAIN or 0.
enum Ready : uint8_t { kReadable = 1, kWritable = 2, kHangup = 4, kFault = 8 };

class EventHandler {
  public:
    virtual void on_ready(uint8_t ready) = 0;  // bits of Ready; must not yield; may destroy itself

  protected:
    ~EventHandler() = default;
};

class Registration {
  public:
    Registration() = default;
    Registration(Registration&& other) noexcept;
    Registration& operator=(Registration&& other) noexcept;
    ~Registration();  // removes

    // `handler` must outlive the registration or be replaced first. Does not own `fd`; remove
    // before closing it.
    static Result<Registration> add(int fd, EventHandler& handler);

    void set_handler(EventHandler& handler);

    void remove();

    bool active() const { return slot_ != kNone; }

  private:
    static constexpr uint32_t kNone = UINT32_MAX;

    uint32_t slot_ = kNone;
    int fd_ = -1;
};

}  // namespace weir::io
