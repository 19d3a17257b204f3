# A room is one folder under wick/ and one static library, wick::<room>.

#   add_room(<name> SOURCES a.cpp b.cpp LINK wick::base fmt::fmt)
# A room without sources (headers only) is an interface library.
function(add_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINK" ${ARGN})
  if(ROOM_SOURCES)
    add_library(wick_${name} STATIC ${ROOM_SOURCES})
    target_link_libraries(wick_${name} PRIVATE $<BUILD_INTERFACE:wick_compiler> PUBLIC ${ROOM_LINK})
    wick_find_headers(wick_${name} PUBLIC)
  else()
    add_library(wick_${name} INTERFACE)
    target_link_libraries(wick_${name} INTERFACE ${ROOM_LINK})
    wick_find_headers(wick_${name} INTERFACE)
  endif()
  add_library(wick::${name} ALIAS wick_${name})
  wick_install_library(wick_${name} ${name})
endfunction()
