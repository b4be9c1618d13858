# Several sources are compiled as one: parsing the headers of session/ and instantiating their classes takes 2.1 s for each compiled
# file, before the first line of the source. All of session/ takes 126 s of processor time in 27 batches and 94 s in 12.
# `./configure --batches=off` compiles each source alone, as `make check` does: a batch hides that a file does not include what it
# uses. batches.py chooses which sources go together, and takes those out that somebody edits.
set(WEIR_BATCH_FILES 24)
set(WEIR_BATCH_LINES 3000)
find_package(Python3 QUIET COMPONENTS Interpreter)

# weir_batches(TARGET LIST): the sources in the variable LIST become what is to be compiled instead of these. Files that have flags of their own stay
# alone. The written files name others from here, so that they are the same in every folder, for ccache.
function(weir_batches target list_name)
  if(NOT WEIR_BATCHES OR NOT Python3_FOUND)
    return()
  endif()
  set(alone)
  set(together)
  foreach(source IN LISTS ${list_name})
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(source MATCHES "[.]cc$" AND NOT definitions AND NOT options)
      file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${source})
      list(APPEND together ${name})
    else()
      list(APPEND alone ${source})
    endif()
  endforeach()
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/batches.py ${CMAKE_BINARY_DIR}/batches/${target}
      ${WEIR_BATCH_FILES} ${WEIR_BATCH_LINES} ${together}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE written OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" written "${written}")
  set(${list_name} ${alone} ${written} PARENT_SCOPE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/batches.py)
endfunction()
