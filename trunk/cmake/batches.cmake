# Several sources are compiled as one: most of the time goes into headers. Measured: 8 files of test/session/rtsp take 33.4 s of
# processor time one by one under the sanitizers, and 12.4 s together; 8 of src/session/rtsp 13.4 s and 6.9 s, in a release build
# 11.8 s and 5.4 s. `./configure --batches=off` compiles each alone, as `make check` does: a batch hides that a file does not
# include what it uses. Which files go together: batches.py.
set(WEIR_BATCH_FILES 8)
set(WEIR_BATCH_LINES 3000)
find_package(Python3 QUIET COMPONENTS Interpreter)
function(weir_batches target sources)
  if(NOT WEIR_BATCHES OR NOT Python3_FOUND)
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

