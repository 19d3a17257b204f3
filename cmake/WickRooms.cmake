# A room is one folder under wick/ and one static library, wick::<room>. A part of a room that only some programs link is a library too.

#   add_room(<name> [SMALL] [SEPARATE] [OWN_DEFINITIONS] SOURCES a.cpp b.cpp LINK wick::base fmt::fmt)
# SMALL: nothing in it is worth compiling for speed (WICK_SMALL_CODE).
# SEPARATE: its files define the same names for themselves, so that WICK_UNITY cannot compile several at once.
# OWN_DEFINITIONS: a library that it links defines macros, so that it cannot share precompiled headers with the other rooms.
# A room without sources (headers only) is an interface library.
function(add_room name)
  cmake_parse_arguments(ROOM "SMALL;SEPARATE;OWN_DEFINITIONS" "" "SOURCES;LINK" ${ARGN})
  if(ROOM_SOURCES)
    add_library(wick_${name} STATIC ${ROOM_SOURCES})
    target_link_libraries(wick_${name} PRIVATE $<BUILD_INTERFACE:wick_compiler> PUBLIC ${ROOM_LINK})
    target_compile_features(wick_${name} PUBLIC cxx_std_20)
    wick_find_headers(wick_${name} PUBLIC)
    if(ROOM_SMALL)
      target_compile_options(wick_${name} PRIVATE ${WICK_SMALL_CODE_FLAGS})
    endif()
    if(WICK_UNITY AND NOT ROOM_SEPARATE)
      set_target_properties(wick_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
    endif()
    if(NOT ROOM_OWN_DEFINITIONS)
      wick_reuse_precompiled(wick_${name})
    elseif(WICK_PRECOMPILE)
      wick_precompile(wick_${name})
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
