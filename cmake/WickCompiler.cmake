# The oldest compilers with what is used of C++20: std::source_location above all, which Debian 12's clang 14 lacks.
set(WICK_OLDEST_GNU 12)
set(WICK_OLDEST_Clang 16)
set(WICK_OLDEST_AppleClang 15)
if(WICK_OLDEST_${CMAKE_CXX_COMPILER_ID} AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS WICK_OLDEST_${CMAKE_CXX_COMPILER_ID})
  message(FATAL_ERROR "Wick needs GCC ${WICK_OLDEST_GNU}, clang ${WICK_OLDEST_Clang} or Apple's clang ${WICK_OLDEST_AppleClang}, or a newer one; "
                      "${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}. Choose another by -DCMAKE_CXX_COMPILER=g++-12.")
endif()
# The flags that every room is compiled with.
add_library(wick_compiler INTERFACE)
target_compile_options(wick_compiler INTERFACE -Wall -Wextra -Wpedantic $<$<BOOL:${WICK_WERROR}>:-Werror>)
# GCC 12 sees overlapping copies in its own std::string (GCC bug 105651).
target_compile_options(wick_compiler INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
# libstdc++ 12 marks as deprecated a function that its own std::stable_sort calls; clang warns at each use.
target_compile_options(wick_compiler INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations>)
# Floating-point contraction would make a result depend on the compiler: the kernels say fma where they mean it.
target_compile_options(wick_compiler INTERFACE -ffp-contract=off)
# Only what the public headers declare is visible outside of a shared library: their namespaces carry the attribute.
target_compile_options(wick_compiler INTERFACE -fvisibility=hidden -fvisibility-inlines-hidden)
# Error::where() and the debugger's information name files from the root of the repository, so that a program tells nothing of the machine
# that built it, and is the same wherever it is built.
target_compile_options(wick_compiler INTERFACE -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
# A program holds no section that nothing refers to, and needs no library that it calls nothing of.
target_link_options(wick_compiler INTERFACE LINKER:--gc-sections LINKER:--as-needed)
# A program's tables of addresses take 200 KB of instructions to its loader, or a few KB where these are packed: by linkers and loaders of
# 2022 and later, which is seen by running a program. Not for shared libraries, which may go to older systems.
if(NOT CMAKE_CROSSCOMPILING AND NOT CMAKE_SYSTEM_NAME STREQUAL "Darwin")
  include(CheckCXXSourceRuns)
  set(CMAKE_REQUIRED_LINK_OPTIONS LINKER:-z,pack-relative-relocs)
  check_cxx_source_runs("int zero; int* address = &zero; int main() { return *address; }" WICK_PACKS_RELOCATIONS)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  set_property(GLOBAL APPEND PROPERTY WICK_SEARCHED_PATHS WICK_PACKS_RELOCATIONS)
  if(WICK_PACKS_RELOCATIONS)
    target_link_options(wick_compiler INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:LINKER:-z,pack-relative-relocs>)
  endif()
endif()
# Code that runs a few times for each op, file or command is compiled for size: programs that hold it are a third smaller, and what takes
# time is in the loops of the backends, the quantized formats, the tokenizer and the sampler. Builds that are made to be run here set
# WICK_SMALL_CODE to OFF, or to QUICK, which takes three quarters of the time; what a sanitizer puts in takes half of it where the optimizer
# leaves it alone.
set(WICK_SMALL_CODE_FLAGS)
if(WICK_SMALL_CODE STREQUAL "QUICK")
  set(WICK_SMALL_CODE_FLAGS $<$<NOT:$<CONFIG:Debug>>:-Og>)
  if(WICK_SANITIZE)
    set(WICK_SMALL_CODE_FLAGS -O0)
  endif()
elseif(WICK_SMALL_CODE)
  set(WICK_SMALL_CODE_FLAGS $<$<NOT:$<CONFIG:Debug>>:-Os>)
endif()
# The code whose speed matters: with the vectors of -O3, but without its copies for special cases and its unrolled ends of loops, which
# gain nothing there. The loops of the CPU backend choose for themselves.
if(WICK_SMALL_CODE AND NOT WICK_SANITIZE)
  set(WICK_FAST_CODE_FLAGS "$<$<CONFIG:Release>:-O2;-ftree-vectorize;$<$<CXX_COMPILER_ID:GNU>:-fvect-cost-model=dynamic>>")
else()
  set(WICK_FAST_CODE_FLAGS)
endif()
# GCC collects its garbage whenever memory has grown by a third, beginning at 128 MB; later, it is a tenth faster and takes a third more.
target_compile_options(wick_compiler INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=500000>)

# What ccache needs to look into precompiled headers, with the launcher below.
function(wick_cached_precompiled target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  else()
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()

#   wick_precompile(<target> <further headers…>)
# The target reads these headers once.
function(wick_precompile target)
  target_precompile_headers(${target} PRIVATE
    <fmt/format.h> <fmt/ranges.h> <algorithm> <array> <cmath> <filesystem> <fstream> <functional> <map> <memory> <mutex> <optional> <span>
    <string> <string_view> <unordered_map> <vector> ${ARGN})
  wick_cached_precompiled(${target})
endfunction()

#   wick_reuse_precompiled(<target> small|fast)
# The target takes the headers that have been read once for all rooms of these flags (WICK_SMALL_CODE_FLAGS, WICK_FAST_CODE_FLAGS).
# Compilers refuse them where other flags, or a definition that the headers use, differ.
function(wick_reuse_precompiled target kind)
  if(NOT WICK_PRECOMPILE)
    return()
  endif()
  if(NOT WICK_SMALL_CODE)
    set(kind fast)  # all code has the same flags
  endif()
  set(headers wick_precompiled_${kind})
  if(NOT TARGET ${headers})
    find_package(fmt REQUIRED)
    find_package(nlohmann_json REQUIRED)
    string(TOUPPER ${kind} upper)
    file(WRITE ${PROJECT_BINARY_DIR}/${headers}.cpp "")
    add_library(${headers} OBJECT ${PROJECT_BINARY_DIR}/${headers}.cpp)
    target_link_libraries(${headers} PRIVATE wick_compiler fmt::fmt nlohmann_json::nlohmann_json)
    target_compile_options(${headers} PRIVATE ${WICK_${upper}_CODE_FLAGS})
    if(kind STREQUAL "small")
      wick_precompile(${headers} <nlohmann/json.hpp>)
    else()
      wick_precompile(${headers})
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
  wick_cached_precompiled(${target})
endfunction()
if(WICK_SANITIZE)
  add_compile_options(-fsanitize=${WICK_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # Among the sanitizers' checks GCC 12 takes parts of its own std::regex for uninitialized, and what is behind an assertion that always
  # fails for the end of a function.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<CXX_COMPILER_ID:GNU>:-Wno-return-type>)
  add_link_options(-fsanitize=${WICK_SANITIZE})
endif()

# ccache, where it is installed, makes a second build quick.
find_program(WICK_CCACHE ccache)
if(WICK_CCACHE AND NOT EXISTS ${WICK_CCACHE})
  wick_refuse("WICK_CCACHE=${WICK_CCACHE}: there is no such program. Give the path of ccache, or OFF for none.")
endif()
if(WICK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/ccache_launcher.sh ${WICK_CCACHE})
endif()

# The commit that --build-info names, and its date, which man pages have; a source archive has none.
find_package(Git QUIET)
set(WICK_COMMIT "unknown")
set(WICK_DATE "")
if(Git_FOUND AND EXISTS "${PROJECT_SOURCE_DIR}/.git")
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --short=12 HEAD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                  OUTPUT_VARIABLE WICK_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(WICK_COMMIT STREQUAL "")
    set(WICK_COMMIT "unknown")
  endif()
  execute_process(COMMAND ${GIT_EXECUTABLE} log -1 --format=%cs WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                  OUTPUT_VARIABLE WICK_DATE OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(WICK_DATE STREQUAL "")
  string(TIMESTAMP WICK_DATE "%Y-%m-%d" UTC)  # or SOURCE_DATE_EPOCH
endif()
