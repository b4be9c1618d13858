# The pure tests link without ST, so that a leak of I/O into a lower layer is a link error.
find_package(GTest REQUIRED)
# The only file that knows where it is: every other object is the same in every folder, also for ccache.
set_source_files_properties(test/support/source_file.cc PROPERTIES COMPILE_DEFINITIONS
  "WEIR_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\"")

# Under the sanitizers, and where the variable TEST_BATCHES is set (.ci/run), tests are compiled several files at a time: most of
# the time goes into headers (measured: 8 files of session/rtsp 33.4 s of processor time one by one, 12.4 s together). Elsewhere a
# changed file is compiled alone, which is quicker.
# Which files go together: batches.py.
set(WEIR_BATCH_FILES 8)
set(WEIR_BATCH_LINES 3000)
find_package(Python3 QUIET COMPONENTS Interpreter)
function(weir_batches target sources)
  if(NOT Python3_FOUND OR NOT (WEIR_SANITIZER OR DEFINED ENV{TEST_BATCHES}))
    return()
  endif()
  list(TRANSFORM sources REPLACE "^${CMAKE_SOURCE_DIR}/" "")
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/batches.py ${WEIR_BATCH_FILES} ${WEIR_BATCH_LINES} ${sources}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE lines OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE ";" "=" lines "${lines}")
  string(REPLACE "\n" ";" lines "${lines}")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^([0-9]+)=(.*)$" matched "${line}")
    set_source_files_properties(${CMAKE_SOURCE_DIR}/${CMAKE_MATCH_2} PROPERTIES UNITY_GROUP ${target}-${CMAKE_MATCH_1})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/batches.py)
endfunction()

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
    add_executable(${name} ${sources} test/support/source_file.cc)
    target_link_libraries(${name} PRIVATE ${ARG_DEPS})
    set_target_properties(${name} PROPERTIES WEIR_TEST_CODE ON)
    weir_batches(${name} "${sources}")
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
# A table of cases on the stack; no coroutine runs it.
set_source_files_properties(test/proto/flv/tag_test.cc PROPERTIES COMPILE_OPTIONS -Wframe-larger-than=65536)
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
