#include "io/runtime.h"

#include <cerrno>

#include <signal.h>
#include <sys/resource.h>

#include "base/log.h"
#include "io/coroutine.h"
#include "io/fault_handler.h"
#include "io/leak_check.h"
#include "io/reactor_core.h"
#include "io/sanitizer_log.h"
#include "io/scheduler.h"
#include "io/stacks.h"

namespace weir::io {
namespace {

Error raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return Error::from_errno(errno, "getrlimit");
    }
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return Error::from_errno(errno, "raise the descriptor limit");
    }
    return {};
}

}  // namespace

Error init_runtime() {
    WEIR_TRY(raise_descriptor_limit());
    WEIR_TRY(start_scheduler());
    // Both are told by the call that fails, too: a peer that has gone, a file over RLIMIT_FSIZE.
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    log::set_id_hook(&log_id);
    WEIR_TRY(install_fault_handler());
    install_leak_check();
    install_sanitizer_log();
    WEIR_TRY(start_reactor());
    reset_scheduler_counts();
    return {};
}

RuntimeStats runtime_stats() {
    RuntimeStats stats;
    SchedulerCounts counts = scheduler_counts();
    stats.coroutines_live = counts.live;
    stats.coroutines_created = counts.created;
    StackTotals stacks = stack_totals();
    stats.stacks = stacks.count;
    stats.stack_bytes = stacks.bytes;
    stats.stacks_dropped = stacks.dropped;
    add_reactor_stats(stats);
    return stats;
}

}  // namespace weir::io
