# Compiler and linker flags that every target shares.
add_library(weir_flags INTERFACE)
target_compile_options(weir_flags INTERFACE
  -g -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wold-style-cast -Wcast-align -Wundef -Wvla
  -fstack-protector-strong -fstack-clash-protection -fno-plt)
# A large frame on a coroutine stack is a crash; the sanitizers make every frame larger.
if(NOT WEIR_SANITIZER)
  target_compile_options(weir_flags INTERFACE -Wframe-larger-than=4096)
endif()
# ST's assembly has no stack note: without this the whole program gets an executable stack.
target_link_options(weir_flags INTERFACE -Wl,-z,noexecstack -Wl,-z,relro -Wl,-z,now)
# The sources are found by their own folder, so that <> never finds one of ours.
target_compile_options(weir_flags INTERFACE "SHELL:-iquote ${CMAKE_SOURCE_DIR}/src" "SHELL:-iquote ${CMAKE_SOURCE_DIR}")

if(WEIR_DEBUG)
  target_compile_options(weir_flags INTERFACE -O0)
  target_compile_definitions(weir_flags INTERFACE WEIR_DEBUG_CHECKS=1)
elseif(WEIR_SANITIZER)
  target_compile_options(weir_flags INTERFACE -O1)
  target_compile_definitions(weir_flags INTERFACE WEIR_DEBUG_CHECKS=1)
else()
  target_compile_options(weir_flags INTERFACE -O2)
  target_compile_definitions(weir_flags INTERFACE _FORTIFY_SOURCE=2)
endif()
if(WEIR_FRAME_POINTER)
  target_compile_options(weir_flags INTERFACE -fno-omit-frame-pointer)
endif()
if(WEIR_SANITIZER)
  target_compile_options(weir_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
    -fsanitize-recover=address)
  target_link_options(weir_flags INTERFACE -fsanitize=address,undefined)
endif()
if(WEIR_LIBFUZZER)
  target_compile_options(weir_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(WEIR_WERROR)
  target_compile_options(weir_flags INTERFACE -Werror)
endif()
