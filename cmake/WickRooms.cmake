# A room is one folder under src/ and one static library, wick::<room>.

#   add_room(<name> SOURCES a.cpp b.cpp LINK wick::base fmt::fmt)
# A room without sources (headers only) is an interface library.
function(add_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINK" ${ARGN})
  if(ROOM_SOURCES)
    add_library(wick_${name} STATIC ${ROOM_SOURCES})
    target_include_directories(wick_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(wick_${name} PRIVATE wick_compiler PUBLIC ${ROOM_LINK})
  else()
    add_library(wick_${name} INTERFACE)
    target_include_directories(wick_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(wick_${name} INTERFACE ${ROOM_LINK})
  endif()
  add_library(wick::${name} ALIAS wick_${name})
endfunction()
