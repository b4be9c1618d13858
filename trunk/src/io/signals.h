// Unix signals as events of the media thread (signalfd). Blocks them for the whole process; create
// before any thread.
#pragma once

#include <initializer_list>
#include <memory>

#include "base/error.h"

namespace weir::io {

class Deadline;

class SignalSet {
  public:
    static Result<std::unique_ptr<SignalSet>> create(std::initializer_list<int> signals);
    ~SignalSet();

    // Yields. The number of the next signal.
    Result<int> wait(Deadline deadline);

  private:
    struct Impl;
    explicit SignalSet(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace weir::io
