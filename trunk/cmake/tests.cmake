# The pure tests link without ST, so that a leak of I/O into a lower layer is a link error.
find_package(GTest REQUIRED)
# The only file that knows where it is: every other object is the same in every folder, also for ccache.
set_source_files_properties(test/support/source_file.cc PROPERTIES COMPILE_DEFINITIONS
  "WEIR_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\"")

# A table of cases on the stack; no coroutine runs it.
set_source_files_properties(${CMAKE_SOURCE_DIR}/test/proto/flv/tag_test.cc PROPERTIES COMPILE_OPTIONS -Wframe-larger-than=65536)

# CHECKED NO: the code of the tests themselves is not looked through for undefined behaviour, what they test is. A third of
# the time that they take to compile under the sanitizers.
function(weir_test_binary name)
  cmake_parse_arguments(ARG "" "CHECKED" "FOLDERS;DEPS" ${ARGN})
  set(sources)
  foreach(folder ${ARG_FOLDERS})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/test/${folder}/*.cc)
    list(APPEND sources ${found})
  endforeach()
  if(sources)
    weir_batches(${name} sources)
    add_executable(${name} ${sources} test/support/source_file.cc)
    target_link_libraries(${name} PRIVATE ${ARG_DEPS})
    set_target_properties(${name} PROPERTIES WEIR_TEST_CODE ON)
    set(pch_owner weir-unit-tests)
    if(ARG_CHECKED STREQUAL "NO" AND WEIR_SANITIZER)
      target_compile_options(${name} PRIVATE -fno-sanitize=undefined)
      set(pch_owner ${name})  # its flags are its own
    endif()
    weir_pch(${name} ${pch_owner} ${WEIR_PCH_STD} ${WEIR_PCH_FMT} ${WEIR_PCH_TEST})
  endif()
endfunction()

weir_test_binary(weir-unit-tests FOLDERS base media proto stream bench/core
  DEPS weir_load_core weir_proto weir_stream GTest::gtest_main GTest::gmock)
# Coroutine tests bring their own main (test/support/io_main.cc): the scheduler must be up before the first test.
weir_test_binary(weir-component-tests FOLDERS io net transcode session config diagnosis app bench/run support/io
  DEPS weir_app weir_load GTest::gtest GTest::gmock CHECKED NO)

# Fuzz targets: gcc replays the corpora; scripts/fuzz builds them with clang's libFuzzer.
file(GLOB fuzzers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/*_fuzz.cc)
if(NOT WEIR_LIBFUZZER)
  add_library(weir_replay OBJECT EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/fuzz/replay_main.cc)
  target_link_libraries(weir_replay PUBLIC weir_flags)
endif()
foreach(source ${fuzzers})
  get_filename_component(target ${source} NAME_WE)
  string(REPLACE "_" "-" target ${target})
  if(WEIR_LIBFUZZER)
    add_executable(${target} ${source})
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  else()
    # Replays without the sanitizers would find little: only that variant builds them unasked.
    add_executable(${target} ${source})
    target_link_libraries(${target} PRIVATE weir_replay)
    set_target_properties(${target} PROPERTIES WEIR_TEST_CODE ON)
    if(NOT WEIR_SANITIZER)
      set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
  endif()
  target_link_libraries(${target} PRIVATE weir_app)
endforeach()

# Micro-benchmarks, by `make micro` only.
find_package(benchmark QUIET)
file(GLOB_RECURSE micro CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/micro/*.cc)
if(benchmark_FOUND)
  add_executable(weir-micro EXCLUDE_FROM_ALL ${micro})
  target_link_libraries(weir-micro PRIVATE weir_app weir_load_core benchmark::benchmark_main)
endif()
