// What this build was configured with: the diagnosis tools of ./configure (doc/debugging.md). All
// are off in a release build, which carries nothing of them.
//
// Each macro is 0 or 1. Where a tool's header or a call of it is needed, use the macro; where a
// branch will do, the constant.
#pragma once

#ifndef WEIR_PLANTS
#define WEIR_PLANTS 0  // --plants=on: planted defects, never for production
#endif
#ifndef WEIR_VALGRIND
#define WEIR_VALGRIND 0  // --valgrind=on: tells valgrind about coroutine stacks
#endif
#ifndef WEIR_GPROF
#define WEIR_GPROF 0  // --gprof=on
#endif
#ifndef WEIR_CPU_PROFILER
#define WEIR_CPU_PROFILER 0  // libprofiler is linked: --gperf=on, or with --gcp=on
#endif
#ifndef WEIR_HEAP_PROFILER
#define WEIR_HEAP_PROFILER 0  // libtcmalloc is linked: --gperf=on, or with --gmp=on
#endif
#ifndef WEIR_GCP
#define WEIR_GCP 0  // --gcp=on: CPU profile from start to end
#endif
#ifndef WEIR_GMP
#define WEIR_GMP 0  // --gmp=on: heap profile from start to end
#endif
#ifndef WEIR_GMC
#define WEIR_GMC 0  // --gmc=on: heap check at the end
#endif
#ifndef WEIR_GMD
#define WEIR_GMD 0  // --gmd=on: the allocator that finds overruns
#endif
#ifndef WEIR_SANITIZER_LOG
#define WEIR_SANITIZER_LOG 0  // --sanitizer-log=on: sanitizer reports go into the log
#endif
#if defined(__SANITIZE_ADDRESS__)
#define WEIR_ASAN 1  // --sanitizer=on
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEIR_ASAN 1
#endif
#endif
#ifndef WEIR_ASAN
#define WEIR_ASAN 0
#endif
#ifndef WEIR_BUILD_FLAGS
#define WEIR_BUILD_FLAGS ""  // the flags of ./configure that differ from their defaults
#endif

namespace weir {

inline constexpr bool kHasPlants = WEIR_PLANTS != 0;

// "--gperf=on --gcp=on"; empty in a release build.
inline constexpr const char* kBuildFlags = WEIR_BUILD_FLAGS;

}  // namespace weir
