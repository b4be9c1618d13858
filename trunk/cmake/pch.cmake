# Precompiled headers: what nearly every file includes is parsed once, which saves 0.4 s of 0.9 s in a small file and
# 0.7 s in a large one. Only headers of the standard library, fmt and googletest are in them, never one of ours. A file still
# includes what it uses: scripts/lint looks for names of these headers that a file does not include, and `make check` and the
# fuzz build compile without.
set(WEIR_PCH_STD <algorithm> <array> <atomic> <charconv> <chrono> <cstddef> <cstdint> <cstring> <deque> <functional> <list> <map>
  <memory> <optional> <set> <span> <string> <string_view> <tuple> <unordered_map> <unordered_set> <utility> <variant> <vector>)
set(WEIR_PCH_FMT <fmt/format.h>)
set(WEIR_PCH_TEST <gmock/gmock.h> <gtest/gtest.h>)

# ccache refuses a file with a precompiled header unless it is told to accept that; then it caches nothing at all, which
# costs more than is saved.
get_filename_component(compiler "${CMAKE_CXX_COMPILER}" REALPATH)
if(WEIR_PCH AND "${CMAKE_CXX_COMPILER_LAUNCHER} ${compiler}" MATCHES "ccache")
  execute_process(COMMAND ccache --get-config sloppiness OUTPUT_VARIABLE sloppiness ERROR_QUIET)
  if(NOT sloppiness MATCHES "pch_defines")
    message(STATUS "No precompiled headers: ccache is used, and `ccache -o sloppiness=pch_defines,time_macros` is not set")
    set(WEIR_PCH OFF)
  endif()
endif()

# weir_pch(TARGET OWNER HEADERS...): the first target that names OWNER, the owner itself, has it compiled; its flags are
# those of every other.
function(weir_pch target owner)
  if(NOT WEIR_PCH)
    return()
  endif()
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()
