# What an outside program needs: headers, static libraries, find_package(wick COMPONENTS cpu) and wick.pc; the component "development".
# Installed, the rooms' folders lie in include/wick/, which is a place where the compiler looks: so they include each other as they do here.

# Where users of a library find its headers, here and installed. The umbrella headers, include/wick/, are for other projects only.
function(wick_find_headers target scope)
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/wick> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
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
  install(DIRECTORY include/wick DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
  foreach(room base layout quant formats ir kernels device tensor nn text model engine)
    install(DIRECTORY src/${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/wick COMPONENT development FILES_MATCHING PATTERN "*.h")
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
