# What an outside program needs: headers, static libraries, find_package(wick COMPONENTS cpu) and wick.pc; the component "development".
# Headers are included from the root of the repository, as "wick/room/file.h", in the tree as installed.

# Where users of a library find its headers, here and installed.
function(wick_find_headers target scope)
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

#   wick_header_closure(<variable> <header>…)
# The headers of wick/ that these include, and those that they include in turn, from the repository's root; CMake configures anew when one
# of them changes.
function(wick_header_closure variable)
  set(open ${ARGN})
  set(closure)
  while(open)
    list(POP_FRONT open header)
    if(header IN_LIST closure)
      continue()
    endif()
    list(APPEND closure ${header})
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
    file(STRINGS ${PROJECT_SOURCE_DIR}/${header} lines REGEX "^[ \t]*#[ \t]*include[ \t]+[\"<]wick/")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE ".*[\"<](wick/[^\">]+)[\">].*" "\\1" included "${line}")
      list(APPEND open ${included})
    endforeach()
  endwhile()
  list(SORT closure)
  set(${variable} ${closure} PARENT_SCOPE)
endfunction()

# Installs a room or a backend as wick::<name>; the bodies of the subcommands (cli) are of no use elsewhere.
function(wick_install_library target name)
  if(name STREQUAL "cli")
    return()
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS ${target} EXPORT wick ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  set_property(GLOBAL APPEND PROPERTY WICK_INSTALLED_LIBRARIES ${target})
endfunction()

# Headers and package files; called when all libraries are known.
function(wick_install_development)
  # The umbrella headers, each built backend's own header, and what they include; nothing else.
  set(public wick/wick.h wick/tensor.h wick/nn.h wick/llm.h)
  get_property(built GLOBAL PROPERTY WICK_BACKENDS_BUILT)
  foreach(backend IN LISTS built)
    if(EXISTS ${PROJECT_SOURCE_DIR}/wick/backend/${backend}/${backend}.h)
      list(APPEND public wick/backend/${backend}/${backend}.h)
    endif()
  endforeach()
  wick_header_closure(headers ${public})
  foreach(header IN LISTS headers)
    cmake_path(GET header PARENT_PATH folder)
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT development)
  endforeach()

  set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/wick)
  include(CMakePackageConfigHelpers)
  get_property(WICK_BACKENDS_IN_TREE GLOBAL PROPERTY WICK_BACKENDS_IN_TREE)
  get_property(WICK_BACKEND_PACKAGES GLOBAL PROPERTY WICK_BACKEND_PACKAGES)  # what the backends that are built find_package
  configure_package_config_file(cmake/wickConfig.cmake.in ${PROJECT_BINARY_DIR}/wickConfig.cmake INSTALL_DESTINATION ${folder})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/wickConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(EXPORT wick NAMESPACE wick:: FILE wickTargets.cmake DESTINATION ${folder} COMPONENT development)
  install(FILES ${PROJECT_BINARY_DIR}/wickConfig.cmake ${PROJECT_BINARY_DIR}/wickConfigVersion.cmake cmake/WickBackendTable.cmake
                cmake/linked_backends.cpp.in
          DESTINATION ${folder} COMPONENT development)

  # pkg-config knows no components: its program holds the CPU backend, whose table is a library of its own.
  write_backend_table(${PROJECT_BINARY_DIR}/wick_only_cpu.cpp BACKENDS cpu IN_TREE ${WICK_BACKENDS_IN_TREE})
  add_library(wick_only_cpu STATIC ${PROJECT_BINARY_DIR}/wick_only_cpu.cpp)
  target_link_libraries(wick_only_cpu PRIVATE wick_compiler wick::device)
  install(TARGETS wick_only_cpu ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  set(WICK_PC_LIBRARIES "-lwick_only_cpu")
  get_property(libraries GLOBAL PROPERTY WICK_INSTALLED_LIBRARIES)
  foreach(library IN LISTS libraries)
    get_target_property(type ${library} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      string(APPEND WICK_PC_LIBRARIES " -l${library}")
    endif()
  endforeach()
  configure_file(cmake/wick.pc.in ${PROJECT_BINARY_DIR}/wick.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/wick.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endfunction()
