// Private to io/: the last words of a process that crashes.
//
// On SIGSEGV, SIGBUS, SIGABRT, SIGILL and SIGFPE: which coroutine of which client it was ("stack
// overflow in coroutine NAME" when a guard page was hit) and the stack, to stderr and the log; then
// what handled the signal before: a core file, or a sanitizer. Builds with AddressSanitizer, which
// reports better, only name the coroutine of an overflow.
#pragma once

#include "base/error.h"

namespace weir::io {

// For the whole process; the alternate signal stack, without which an overflow cannot be told, is
// the calling thread's.
Error install_fault_handler();

}  // namespace weir::io
