// Which cores the media thread and the workers run on: cpu_affinity and worker_cpu_affinity.
//
// A thread starts with the cores of the thread that makes it. So the media thread puts the cores of
// the workers on while it makes them, and its own afterwards; without a directive a thread keeps
// what the process was started with (taskset, CPUAffinity= of systemd, the cpuset of a container).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sched.h>

#include "base/error.h"
#include "config/config.h"

namespace weir::app {

// Core numbers, ascending.
using CoreNumbers = std::vector<uint16_t>;

// Those of the calling thread; empty when the kernel does not say.
CoreNumbers current_cores();

// The same as the kernel has it, cores above kMaxCore included, to be put back later. kSystem.
Result<cpu_set_t> core_mask();
Error put_back(const cpu_set_t& mask);

// All that the calling thread could be given: online, and in its cpuset. Asks the kernel by trying,
// and puts the thread back on its cores.
CoreNumbers available_cores();

// "0-3,6"; "none" for an empty list.
std::string core_list_text(const CoreNumbers& cores);

// What the configuration asks for and `available` does not have, each with file, line and column.
std::vector<Diagnostic> missing_cores(const config::Config& config, const CoreNumbers& available);

// The same against available_cores(), which is only asked when the configuration names cores.
std::vector<Diagnostic> missing_cores(const config::Config& config);

// Moves the calling thread, and with it every thread that it makes from now on. An empty list
// changes nothing. kSystem when the kernel refuses.
Error run_on_cores(const CoreNumbers& cores);

}  // namespace weir::app
