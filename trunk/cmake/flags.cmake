# Compiler and linker flags that every target shares.
add_library(weir_flags INTERFACE)
target_compile_options(weir_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wold-style-cast -Wcast-align -Wundef -Wvla
  -fstack-protector-strong -fstack-clash-protection -fno-plt)
# A large frame on a coroutine stack is a crash; the sanitizers make every frame larger.
if(NOT WEIR_SANITIZER)
  target_compile_options(weir_flags INTERFACE -Wframe-larger-than=4096)
endif()
# ST's assembly has no stack note: without this the whole program gets an executable stack.
target_link_options(weir_flags INTERFACE -Wl,-z,noexecstack -Wl,-z,relro -Wl,-z,now)
# The sources are found by their own folder, so that <> never finds one of ours.
target_compile_options(weir_flags INTERFACE "SHELL:-iquote \"${CMAKE_SOURCE_DIR}/src\""
  "SHELL:-iquote \"${CMAKE_SOURCE_DIR}\"")

# Debug information is lines and names of functions: whole stacks for the crash reporter, perf, valgrind and the sanitizers. Types and
# variables take a quarter of the compiler's time and three quarters of the program's size; --full-symbols has them.
set(test_code "$<BOOL:$<TARGET_PROPERTY:WEIR_TEST_CODE>>")
if(WEIR_FULL_SYMBOLS OR WEIR_DEBUG)
  target_compile_options(weir_flags INTERFACE -g)
else()
  target_compile_options(weir_flags INTERFACE -g1)
endif()
# Tests are compiled once and run for seconds: optimising them costs more than it saves (measured: 5.9 s a file with
# -O2, 2.3 s without; 16 s and 3.3 s under the sanitizers). Code that is tested is optimised as in the server.
# Layers that no media passes through (WEIR_COLD_CODE in CMakeLists.txt) are compiled with -O1: a quarter of the compiler's time less.
set(cold_code "$<BOOL:$<TARGET_PROPERTY:WEIR_COLD_CODE>>")
# In a batch (batches.cmake) gcc takes a type of a source for one of a header.
if(WEIR_BATCHES AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(weir_flags INTERFACE -Wno-subobject-linkage)
endif()
# gcc collects its garbage later: up to 200 MB more for the largest files, and a tenth of their time less.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(weir_flags INTERFACE --param=ggc-min-heapsize=524288)
endif()
if(WEIR_DEBUG)
  target_compile_options(weir_flags INTERFACE -O0)
  target_compile_definitions(weir_flags INTERFACE WEIR_DEBUG_CHECKS=1)
elseif(WEIR_SANITIZER)
  target_compile_options(weir_flags INTERFACE "$<IF:${test_code},-O0,-O1>")
  # Following every variable through what the sanitizers add takes a third of the compiler's time (10.3 s of a file, 6.8 s
  # without); lines stay.
  target_compile_options(weir_flags INTERFACE -fno-var-tracking)
  target_compile_definitions(weir_flags INTERFACE WEIR_DEBUG_CHECKS=1)
else()
  target_compile_options(weir_flags INTERFACE "$<IF:${test_code},-O0,$<IF:${cold_code},-O1,-O2>>")
  target_compile_definitions(weir_flags INTERFACE "$<$<NOT:${test_code}>:_FORTIFY_SOURCE=2>")
endif()
if(WEIR_FRAME_POINTER)
  target_compile_options(weir_flags INTERFACE -fno-omit-frame-pointer)
endif()
if(WEIR_SANITIZER)
  target_compile_options(weir_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
    -fsanitize-recover=address)
  target_link_options(weir_flags INTERFACE -fsanitize=address,undefined)
  if(WEIR_SANITIZER_STATIC)
    target_link_options(weir_flags INTERFACE -static-libasan -static-libubsan)
  endif()
endif()
if(WEIR_GPROF)
  target_compile_options(weir_flags INTERFACE -pg)
  target_link_options(weir_flags INTERFACE -pg)
endif()
if(WEIR_COVERAGE)
  # The worker threads count, too.
  target_compile_options(weir_flags INTERFACE --coverage -fprofile-update=prefer-atomic)
  target_link_options(weir_flags INTERFACE --coverage)
endif()
if(WEIR_LIBFUZZER)
  target_compile_options(weir_flags INTERFACE -g1 -fsanitize=fuzzer-no-link)
endif()
if(WEIR_WERROR)
  target_compile_options(weir_flags INTERFACE -Werror)
endif()

# gperftools. The allocator is linked only where it is the tool: a CPU profile (--gcp) is one of glibc's allocator.
# --gperf=on alone has both profilers, and the HTTP API starts them.
if(WEIR_GPERF)
  set(only_gperf ON)
  if(WEIR_GCP OR WEIR_GMP OR WEIR_GMC OR WEIR_GMD)
    set(only_gperf OFF)
  endif()
  if(WEIR_GCP OR only_gperf)
    target_link_libraries(weir_flags INTERFACE profiler)
    target_compile_definitions(weir_flags INTERFACE WEIR_CPU_PROFILER=1)
  endif()
  if(WEIR_GMP OR only_gperf)
    target_compile_definitions(weir_flags INTERFACE WEIR_HEAP_PROFILER=1)
    target_link_libraries(weir_flags INTERFACE backtrace)  # GCC's own: names for the stacks of the leak API
  endif()
  if(WEIR_GMD)
    target_link_libraries(weir_flags INTERFACE tcmalloc_debug)
  elseif(WEIR_GMP OR WEIR_GMC OR only_gperf)
    target_link_libraries(weir_flags INTERFACE tcmalloc)
  endif()
  # Calls that the compiler knows by name would be optimised away before the tool sees them.
  target_compile_options(weir_flags INTERFACE -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc
    -fno-builtin-free)
endif()

# What base/build.h says of this build: a macro for each tool, and the flags for `weir -v`. Nothing in a release build.
set(build_flags)
foreach(flag SANITIZER SANITIZER_STATIC SANITIZER_LOG GPROF GPERF GCP GMP GMC GMD VALGRIND COVERAGE DEBUG FULL_SYMBOLS PLANTS)
  if(WEIR_${flag})
    string(TOLOWER ${flag} name)
    string(REPLACE "_" "-" name ${name})
    list(APPEND build_flags "--${name}=on")
  endif()
endforeach()
foreach(flag SANITIZER_LOG GPROF GCP GMP GMC GMD VALGRIND PLANTS)
  if(WEIR_${flag})
    target_compile_definitions(weir_flags INTERFACE WEIR_${flag}=1)
  endif()
endforeach()
if(NOT WEIR_TRANSCODE)
  list(APPEND build_flags "--transcode=off")
endif()
if(NOT WEIR_SRT)
  list(APPEND build_flags "--srt=off")
endif()
if(build_flags)
  list(JOIN build_flags " " build_flags)
  target_compile_definitions(weir_flags INTERFACE "WEIR_BUILD_FLAGS=\"${build_flags}\"")
endif()
