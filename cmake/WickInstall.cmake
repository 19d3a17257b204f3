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

# Installs a room or a backend as wick::<name>, but not the bodies of the subcommands (cli) and the backends that only tests use.
function(wick_install_library target name)
  if(name MATCHES "^(server|server_route|cli|cli_worker|backend_null|backend_reference)$")
    return()
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS ${target} EXPORT wick ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  set_property(GLOBAL APPEND PROPERTY WICK_INSTALLED_LIBRARIES ${target})
endfunction()

# The installed libraries that are archives, by their targets.
function(wick_installed_archives variable)
  get_property(libraries GLOBAL PROPERTY WICK_INSTALLED_LIBRARIES)
  set(archives "")
  foreach(library IN LISTS libraries)
    get_target_property(type ${library} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND archives ${library})
    endif()
  endforeach()
  set(${variable} ${archives} PARENT_SCOPE)
endfunction()

# Headers and package files; called when all libraries are known.
function(wick_install_development)
  # The umbrella headers, each built backend's own header, and what they include; nothing else.
  set(public wick/wick.h wick/tensor.h wick/nn.h wick/llm.h wick/kernel.h wick/c.h)
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

  wick_public_backends(WICK_PUBLIC_COMPONENTS)
  if(TARGET wick_shared)
    list(APPEND WICK_PUBLIC_COMPONENTS shared)
  endif()
  list(JOIN WICK_PUBLIC_COMPONENTS ", " WICK_PUBLIC_COMPONENTS)
  wick_installed_archives(archives)
  list(TRANSFORM archives REPLACE "(.+)" "lib\\1.a" OUTPUT_VARIABLE WICK_ARCHIVES)
  list(JOIN WICK_ARCHIVES ":" WICK_ARCHIVES)
  list(JOIN WICK_GATES " " WICK_GATES)

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
  wick_install_licences(development libwick-dev)

  wick_install_pkg_config()
endfunction()

# wick-static.pc names the static libraries and the CPU backend alone, since pkg-config knows no components; the table of that backend is a
# library of its own. wick.pc is libwick.so's with WICK_SHARED, else the same.
function(wick_install_pkg_config)
  if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
    wick_refuse("CMAKE_INSTALL_LIBDIR and CMAKE_INSTALL_INCLUDEDIR must be relative to the prefix: wick.pc follows the files when they move.")
  endif()
  file(RELATIVE_PATH WICK_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" WICK_PC_PREFIX "${WICK_PC_PREFIX}")
  wick_installed_archives(archives)
  list(PREPEND archives wick_only_cpu)
  list(TRANSFORM archives PREPEND -l OUTPUT_VARIABLE static)
  list(JOIN static " " static)
  list(TRANSFORM archives REPLACE "(.+)" "lib\\1.a")
  list(JOIN archives ":" archives)
  get_property(WICK_BACKENDS_IN_TREE GLOBAL PROPERTY WICK_BACKENDS_IN_TREE)
  write_backend_table(${PROJECT_BINARY_DIR}/wick_only_cpu.cpp BACKENDS cpu IN_TREE ${WICK_BACKENDS_IN_TREE})
  add_library(wick_only_cpu STATIC ${PROJECT_BINARY_DIR}/wick_only_cpu.cpp)
  target_link_libraries(wick_only_cpu PRIVATE wick_compiler wick::device)
  install(TARGETS wick_only_cpu ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  set(WICK_PC_CONTENT ", with the CPU backend")
  set(WICK_PC_REQUIRES "Requires: fmt zlib libpng libturbojpeg libutf8proc libpcre2-8")
  # A shared library that is linked with these exports nothing of theirs. A C compiler that links needs C++'s library named.
  set(runtime -lstdc++)
  if(APPLE)
    set(runtime -lc++)
  endif()
  set(WICK_PC_LINK
      "Libs: -L\${libdir} -Wl,--exclude-libs,${archives} -Wl,--start-group ${static} -Wl,--end-group ${runtime} -lm -pthread")
  configure_file(cmake/wick.pc.in ${PROJECT_BINARY_DIR}/wick-static.pc @ONLY)
  if(TARGET wick_shared)
    set(WICK_PC_CONTENT "")
    set(WICK_PC_REQUIRES "")
    set(WICK_PC_LINK "Libs: -L\${libdir} -lwick")
  endif()
  configure_file(cmake/wick.pc.in ${PROJECT_BINARY_DIR}/wick.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/wick.pc ${PROJECT_BINARY_DIR}/wick-static.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endfunction()

# The backends that users of the library can ask for: null only plans, reference interprets kernels for tests.
function(wick_public_backends variable)
  get_property(built GLOBAL PROPERTY WICK_BACKENDS_BUILT)
  list(REMOVE_ITEM built null reference)
  set(${variable} ${built} PARENT_SCOPE)
endfunction()

# wick::wick for a project that adds this one by add_subdirectory: all libraries, and the table of every backend that is built.
function(wick_add_umbrella_library)
  wick_public_backends(backends)
  get_property(in_tree GLOBAL PROPERTY WICK_BACKENDS_IN_TREE)
  write_backend_table(${PROJECT_BINARY_DIR}/wick_umbrella_backends.cpp BACKENDS ${backends} IN_TREE ${in_tree})
  add_library(wick_umbrella INTERFACE)
  add_library(wick::wick ALIAS wick_umbrella)
  target_sources(wick_umbrella INTERFACE ${PROJECT_BINARY_DIR}/wick_umbrella_backends.cpp)
  target_link_libraries(wick_umbrella INTERFACE wick::engine wick::nn)
  wick_kernel_libraries(kernels ${backends})
  target_link_libraries(wick_umbrella INTERFACE ${kernels})
  list(TRANSFORM backends PREPEND wick::backend_)
  target_link_libraries(wick_umbrella INTERFACE ${backends})
endfunction()

# libwick.so: every library but cli, and the table of every backend that is built. Its exports are what the public headers declare
# (cmake/libwick.map); its name changes with the minor version.
function(wick_add_shared_library)
  wick_public_backends(backends)
  wick_installed_archives(archives)
  add_library(wick_shared SHARED)
  add_library(wick::shared ALIAS wick_shared)
  # The table alone: whole archives hold the backends.
  get_property(in_tree GLOBAL PROPERTY WICK_BACKENDS_IN_TREE)
  write_backend_table(${PROJECT_BINARY_DIR}/wick_shared_backends.cpp BACKENDS ${backends} IN_TREE ${in_tree})
  target_sources(wick_shared PRIVATE ${PROJECT_BINARY_DIR}/wick_shared_backends.cpp)
  set(map ${PROJECT_SOURCE_DIR}/cmake/libwick.map)
  set_target_properties(wick_shared PROPERTIES OUTPUT_NAME wick EXPORT_NAME shared VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} LINK_DEPENDS ${map})
  target_link_libraries(wick_shared PRIVATE wick_compiler -Wl,--whole-archive ${archives} -Wl,--no-whole-archive)
  target_link_options(wick_shared PRIVATE LINKER:--version-script=${map} LINKER:--no-undefined)
  target_compile_features(wick_shared INTERFACE cxx_std_20)
  wick_find_headers(wick_shared INTERFACE)
  install(TARGETS wick_shared EXPORT wick LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libraries
          NAMELINK_COMPONENT development)
  wick_install_licences(libraries libwick${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endfunction()

# Installs a program as a component of its own, with the licences; the interpreter's worker is for tests.
function(wick_install_program program)
  if(NOT WICK_INSTALL OR program STREQUAL "wick-worker-reference")
    return()
  endif()
  install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${program})
  wick_install_licences(${program} ${program})
  wick_install_manuals(${program})
  set_property(GLOBAL APPEND PROPERTY WICK_INSTALLED_PROGRAMS ${program})
endfunction()

# Man pages and completions, which the program writes itself, once it is built.
function(wick_install_manuals program)
  if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    message(STATUS "${program}: no man pages and completions, since it does not run here; set CMAKE_CROSSCOMPILING_EMULATOR")
    return()
  endif()
  set(share ${PROJECT_BINARY_DIR}/share/${program})
  set(pages ${share}/man/man1)
  set(bash ${share}/bash-completion/completions)
  set(zsh ${share}/zsh/site-functions)
  set(fish ${share}/fish/vendor_completions.d)
  if(program STREQUAL "wick")
    set(man man --out ${pages})
    set(completion completion)
  else()
    set(man --man > ${pages}/${program}.1)
    set(completion --completion)
  endif()
  add_custom_command(
    OUTPUT ${share}/written
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${share}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${pages} ${bash} ${zsh} ${fish}
    COMMAND ${program} ${man}
    COMMAND ${program} ${completion} bash > ${bash}/${program}
    COMMAND ${program} ${completion} zsh > ${zsh}/_${program}
    COMMAND ${program} ${completion} fish > ${fish}/${program}.fish
    COMMAND ${CMAKE_COMMAND} -E touch ${share}/written
    DEPENDS ${program} VERBATIM COMMENT "Writing man pages and completions of ${program}")
  add_custom_target(${program}_manuals ALL DEPENDS ${share}/written)
  install(DIRECTORY ${share}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT ${program})
  install(DIRECTORY ${share}/bash-completion ${share}/fish DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT ${program})
  # Debian's zsh looks for completions of packages in a folder of its own, and below /usr/local where all others do.
  install(CODE "
    set(folder site-functions)
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\" AND EXISTS /etc/debian_version)
      set(folder vendor-completions)
    endif()
    file(INSTALL \"${zsh}/_${program}\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${folder}\")"
    COMPONENT ${program})
endfunction()

# `package`: the name of the Debian package that the component becomes.
function(wick_install_licences component package)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/LICENSE-APACHE ${PROJECT_SOURCE_DIR}/LICENSE-MIT
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endfunction()

# The default model, 21 MB, which wick and the workers find above their folder.
function(wick_install_data)
  install(FILES ${PROJECT_SOURCE_DIR}/models/novelist-20m-q8_0.gguf DESTINATION ${CMAKE_INSTALL_DATADIR}/wick/models COMPONENT wick-model)
  wick_install_licences(wick-model wick-model)
endfunction()
