// Private to io/: blocks signals for the calling thread while it lives, so that a thread made
// meanwhile never gets one.
//
// Signals are the media thread's. Those of a crash must stay deliverable, and the one of a
// profiler: it comes to the thread whose CPU time was used, or, when that one blocks it, to
// another, which is then charged for it.
#pragma once

#include <initializer_list>

#include <signal.h>

#include <pthread.h>

#include "base/build.h"

namespace weir::io {

class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        for (int fatal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) {
            sigdelset(&all, fatal);
        }
        if (WEIR_CPU_PROFILER != 0 || WEIR_GPROF != 0) {
            sigdelset(&all, SIGPROF);
        }
        pthread_sigmask(SIG_BLOCK, &all, &before_);
    }

    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_{};
};

}  // namespace weir::io
