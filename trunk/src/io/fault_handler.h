// Private to io/: says "stack overflow in coroutine NAME" when a guard page is hit, then lets the
// default happen.
#pragma once

#include "base/error.h"

namespace weir::io {

// SIGSEGV on an alternate signal stack, for the calling thread. What handled the signal before
// still gets it afterwards.
Error install_fault_handler();

}  // namespace weir::io
