# A room is one folder under wick/ and one static library, wick::<room>. A part of a room that only some programs link is a library too.

#   wick_compile_together(<target>)
# A unity build, two dozen files at once, where WICK_UNITY is on. GCC takes an unnamed namespace of one of these files for a header's and
# warns (subobject-linkage).
function(wick_compile_together target)
  if(NOT WICK_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 24)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()

#   wick_compile_part(<target> small|fast)
# How the sources of a room, or a part of them, are compiled.
function(wick_compile_part target kind)
  string(TOUPPER ${kind} upper)
  target_compile_options(${target} PRIVATE ${WICK_${upper}_CODE_FLAGS})
  wick_compile_together(${target})
  wick_reuse_precompiled(${target} ${kind})
endfunction()

#   add_room(<name> [SMALL] SOURCES a.cpp b.cpp [SMALL_SOURCES c.cpp] LINK wick::base fmt::fmt
#            [LINK_PRIVATE zlib])
# SMALL: nothing in it is worth compiling for speed (WICK_SMALL_CODE); SMALL_SOURCES: these files alone.
# A room without sources (headers only) is an interface library.
function(add_room name)
  cmake_parse_arguments(ROOM "SMALL" "" "SOURCES;SMALL_SOURCES;LINK;LINK_PRIVATE" ${ARGN})
  if(ROOM_SOURCES)
    add_library(wick_${name} STATIC ${ROOM_SOURCES})
    target_link_libraries(wick_${name} PRIVATE $<BUILD_INTERFACE:wick_compiler> PUBLIC ${ROOM_LINK} PRIVATE ${ROOM_LINK_PRIVATE})
    target_compile_features(wick_${name} PUBLIC cxx_std_20)
    wick_find_headers(wick_${name} PUBLIC)
    if(ROOM_SMALL_SOURCES)
      add_library(wick_${name}_small OBJECT ${ROOM_SMALL_SOURCES})
      target_link_libraries(wick_${name}_small PRIVATE wick_compiler ${ROOM_LINK} ${ROOM_LINK_PRIVATE})
      wick_find_headers(wick_${name}_small PRIVATE)
      wick_compile_part(wick_${name}_small small)
      target_sources(wick_${name} PRIVATE $<TARGET_OBJECTS:wick_${name}_small>)
    endif()
    if(ROOM_SMALL)
      wick_compile_part(wick_${name} small)
    else()
      wick_compile_part(wick_${name} fast)
    endif()
  else()
    add_library(wick_${name} INTERFACE)
    target_link_libraries(wick_${name} INTERFACE ${ROOM_LINK})
    target_compile_features(wick_${name} INTERFACE cxx_std_20)
    wick_find_headers(wick_${name} INTERFACE)
  endif()
  add_library(wick::${name} ALIAS wick_${name})
  wick_install_library(wick_${name} ${name})
endfunction()
