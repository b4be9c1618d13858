# weir_layer(NAME DEPS ...): src/NAME/**/*.cc as the static library weir_NAME.
function(weir_layer name)
  cmake_parse_arguments(ARG "" "" "DEPS;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc ${CMAKE_SOURCE_DIR}/src/${name}/*.S)
  if(WEIR_LIBFUZZER AND DEFINED WEIR_FUZZED_${name})
    list(JOIN WEIR_FUZZED_${name} "|" kept)
    list(FILTER sources INCLUDE REGEX "/src/${name}/(${kept})[.](cc|S)$")
  endif()
  foreach(excluded ${ARG_EXCLUDE})
    list(REMOVE_ITEM sources ${CMAKE_SOURCE_DIR}/src/${name}/${excluded})
  endforeach()
  if(sources)
    weir_batches(weir_${name} sources)
    add_library(weir_${name} STATIC ${sources})
    target_link_libraries(weir_${name} PUBLIC weir_flags ${ARG_DEPS})
    weir_pch(weir_${name} weir_base ${WEIR_PCH_STD} ${WEIR_PCH_FMT})
  else()
    add_library(weir_${name} INTERFACE)
    target_link_libraries(weir_${name} INTERFACE weir_flags ${ARG_DEPS})
  endif()
endfunction()

# weir_program(NAME SOURCE DEPS...): an executable in the variant's folder.
function(weir_program name source)
  if(EXISTS ${CMAKE_SOURCE_DIR}/${source})
    add_executable(${name} ${CMAKE_SOURCE_DIR}/${source})
    target_link_libraries(${name} PRIVATE ${ARGN})
  endif()
endfunction()

# weir_program_from(NAME FOLDER DEPS...): an executable from all sources below a folder.
function(weir_program_from name folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cc)
  if(sources)
    add_executable(${name} ${sources})
    target_link_libraries(${name} PRIVATE ${ARGN})
  endif()
endfunction()

# Debian's libst, statically, with the functions wrapped that io/ needs to see (doc/adr/0002-state-threads.md):
# mmap, to know every coroutine stack; poll, so that its idle loop takes the events from our epoll instance itself; on
# arm64 also the broken context switch.
add_library(weir_st INTERFACE)
# --undefined: base/ calls mmap, too, and is looked through after io/, which may have been left out until then.
target_link_options(weir_st INTERFACE -Wl,--wrap=mmap -Wl,--wrap=poll -Wl,--undefined=__wrap_mmap)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  target_link_options(weir_st INTERFACE -Wl,--wrap=_setjmp -Wl,--wrap=longjmp -Wl,--wrap=__longjmp_chk)
endif()
target_link_libraries(weir_st INTERFACE -l:libst.a)
