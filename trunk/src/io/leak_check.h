// Leak checks of the sanitizer build: coroutine stacks are no roots for LeakSanitizer, so they are
// made some, merged, only while a check runs.
#pragma once

#include "base/error.h"

namespace weir::io {

// Makes a check at the end of the process see the stacks. Called by init_runtime().
void install_leak_check();

// Looks for leaks now; the report goes to the sanitizer's log. True when there are some; they are
// reported again by every later check. The process stands still meanwhile (16 ms with 100 stacks,
// 260 ms with 10,000). kUnsupported in other builds.
Result<bool> check_leaks();

}  // namespace weir::io
