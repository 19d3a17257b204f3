# Compiles for 64-bit ARM on another machine and runs the programs in qemu: how the NEON kernels are tested (preset neon).
# Debian's cross compiler comes with the C and C++ libraries alone, so only what calls no other library can be linked: each function has a
# section, and the linker leaves out those that nothing calls.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

# The headers in /usr/include that do not depend on the machine are good here too; behind the cross compiler's own, they hide none.
set(CMAKE_CXX_FLAGS_INIT "-idirafter /usr/include -ffunction-sections -fdata-sections")
set(fmt_DIR ${CMAKE_CURRENT_LIST_DIR})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_CURRENT_LIST_DIR}/pkgconfig)
