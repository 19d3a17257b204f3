// Information from the operating system about this process and machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace wick {

// The largest resident set that this process has had, in bytes (VmHWM); 0 where the system does not tell.
[[nodiscard]] uint64_t peak_resident_bytes() noexcept;
// The part of it that is memory of its own, not pages of files; 0 where the system does not tell.
[[nodiscard]] uint64_t anonymous_resident_bytes() noexcept;
// Memory that this machine has, and that a new allocation could get, in bytes; 0 where the system does not tell. Limits of cgroups
// count, of v1 and v2.
[[nodiscard]] uint64_t physical_memory_bytes() noexcept;
[[nodiscard]] uint64_t available_memory_bytes() noexcept;
// Cores that this process may run on: the affinity mask and the CPU quotas of cgroups (v1 and v2) counted, at least 1.
[[nodiscard]] int usable_cores() noexcept;
// Seconds since this process was started by the operating system.
[[nodiscard]] double seconds_since_process_start() noexcept;

// Keeps the pages of this process in memory from now on, also of what it maps later: a page that was read or written once is neither
// swapped out nor, where it is a mapped file's, dropped. Errors: invalid_argument where the system's limit does not allow it; unsupported.
void lock_memory();

// Calls the function in each process that this one forks, before fork() returns there. It is called on the only thread that is left.
void call_in_forked_children(void (*function)());

// The file that this process runs; empty where the system does not tell.
[[nodiscard]] std::filesystem::path executable_path();
// Whether that file descriptor (0: standard input, 1: output, 2: errors) is a terminal.
[[nodiscard]] bool is_terminal(int descriptor) noexcept;

// Zeroed memory taken straight from the system, in huge pages where it likes; nullptr where it has none. Aligned to a page, from
// kHugePageBytes on to a huge page. Pages cost memory when first written.
inline constexpr size_t kHugePageBytes = size_t{2} << 20;
[[nodiscard]] void* map_zeroed_pages(size_t bytes) noexcept;
void unmap_pages(void* address, size_t bytes) noexcept;
// The whole pages of a range that map_zeroed_pages gave go back to the system and are zero again; those of a mapped file are read from it
// again. Also where lock_memory() has been called.
void release_pages(void* address, size_t bytes) noexcept;
// The whole pages of a range are small ones from now on, as far as nothing was written to them: for memory that is written here and there,
// where a huge page would be cleared for the sake of a few bytes. Only a hint.
void use_small_pages(void* address, size_t bytes) noexcept;

}  // namespace wick
