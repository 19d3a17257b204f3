#include "wick/base/process.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "wick/base/cgroup.h"
#include "wick/base/fail.h"
#include "wick/base/unused_memory.h"

namespace wick {
namespace {

// The number behind `key` in a file of lines "Key:   123 kB", in bytes; 0 where there is none.
uint64_t kilobytes_entry(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with(key)) return std::strtoull(line.c_str() + key.size(), nullptr, 10) * 1024;
  }
  return 0;
}

// A process stays in its groups; their files are read anew each time. Never destroyed: threads that prepare weights ask until the process
// has ended.
const Cgroup& own_cgroup() {
  static const Cgroup& cgroup = *std::make_unique<const Cgroup>().release();
  return cgroup;
}

// The smaller of both, where 0 is what the system does not tell.
uint64_t smaller(uint64_t machine, std::optional<uint64_t> group) noexcept {
  if (!group) return machine;
  return machine == 0 ? *group : std::min(machine, *group);
}

}  // namespace

void call_in_forked_children(void (*function)()) { (void)::pthread_atfork(nullptr, nullptr, function); }

uint64_t peak_resident_bytes() noexcept { return kilobytes_entry("/proc/self/status", "VmHWM:"); }
uint64_t anonymous_resident_bytes() noexcept { return kilobytes_entry("/proc/self/status", "RssAnon:"); }

uint64_t physical_memory_bytes() noexcept { return smaller(kilobytes_entry("/proc/meminfo", "MemTotal:"), own_cgroup().memory_limit()); }

uint64_t available_memory_bytes() noexcept {
  std::optional<uint64_t> group = own_cgroup().available_memory();
  // Beyond the limit the system kills, so a sixteenth of it is left for stacks, page tables and what others of the group take meanwhile.
  if (group) *group -= std::min(*group, own_cgroup().memory_limit().value_or(0) / 16);
  const uint64_t bytes = smaller(kilobytes_entry("/proc/meminfo", "MemAvailable:"), group);
  return group ? std::max<uint64_t>(bytes, 1) : bytes;  // 0 would mean unknown
}

int usable_cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cores = 1;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) cores = std::max(1, CPU_COUNT(&set));
  const std::optional<double> quota = own_cgroup().cores();
  return quota ? std::clamp(static_cast<int>(std::ceil(std::min(*quota, 1e6))), 1, cores) : cores;
}

double seconds_since_process_start() noexcept {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  // Field 22, counted after the program's name, which is in parentheses and may contain spaces.
  size_t at = text.rfind(')');
  if (at == std::string::npos) return 0;
  at += 1;
  for (int field = 3; field <= 22 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  if (at == std::string::npos) return 0;
  // 20 separators after field 2 is the start in clock ticks since boot.
  const size_t begin = text.rfind(' ', at - 1) + 1;
  const double ticks = std::strtod(text.c_str() + begin, nullptr);
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  const double uptime = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  return uptime - ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::filesystem::path executable_path() {
  std::error_code error;
  std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return path;
  // Without /proc, what the program was started by.
  const auto* started = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return started == nullptr ? std::filesystem::path() : std::filesystem::absolute(started, error);
}

bool is_terminal(int descriptor) noexcept { return ::isatty(descriptor) == 1; }

void* map_zeroed_pages(size_t bytes) noexcept {
  const size_t slack = bytes < kHugePageBytes ? 0 : kHugePageBytes;
  void* address = ::mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  if (slack != 0) {
    auto* const begin = static_cast<std::byte*>(address);
    const size_t before = (kHugePageBytes - reinterpret_cast<uintptr_t>(begin) % kHugePageBytes) % kHugePageBytes;
    const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const size_t end = before + (bytes + page - 1) / page * page;
    if (before > 0) ::munmap(begin, before);
    if (end < bytes + slack) ::munmap(begin + end, bytes + slack - end);
    address = begin + before;
  }
  // Weights are read from end to end for each token: with huge pages the processor walks fewer tables. Only a hint.
  ::madvise(address, bytes, MADV_HUGEPAGE);
  return address;
}

void unmap_pages(void* address, size_t bytes) noexcept { ::munmap(address, bytes); }

namespace {

// Whether the system took the advice.
bool advise_whole_pages(void* address, size_t bytes, int advice) noexcept {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(address) + page - 1) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(address) + bytes) / page * page;
  return begin >= end || ::madvise(reinterpret_cast<void*>(begin), end - begin, advice) == 0;  // NOLINT: an address, rounded
}

// Capability 14 of capabilities(7): its owner may lock any amount.
bool may_lock_any_amount() {
  constexpr unsigned kIpcLock = 14;
  std::ifstream file("/proc/self/status");
  constexpr std::string_view kKey = "CapEff:";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kKey)) return (std::strtoull(line.c_str() + kKey.size(), nullptr, 16) >> kIpcLock & 1) != 0;
  }
  return false;
}

}  // namespace

void release_pages(void* address, size_t bytes) noexcept {
  // Locked pages only go with the second one, of Linux 5.18.
  constexpr int kDontNeedLocked = 24;
  if (!advise_whole_pages(address, bytes, MADV_DONTNEED)) (void)advise_whole_pages(address, bytes, kDontNeedLocked);
}

void release_unused_memory() noexcept {
#if defined(__GLIBC__)
  (void)::malloc_trim(0);
#endif
}

void use_small_pages(void* address, size_t bytes) noexcept { (void)advise_whole_pages(address, bytes, MADV_NOHUGEPAGE); }

void lock_memory() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && !may_lock_any_amount()) {
    // A smaller limit would let it begin, and refuse memory later, in the middle of a request.
    fail(ErrorCode::invalid_argument,
         "this process may lock {} KiB of memory; set that limit to unlimited (ulimit -l unlimited, systemd's LimitMEMLOCK=infinity, "
         "Docker's --ulimit memlock=-1)",
         limit.rlim_cur / 1024);
  }
  // MCL_ONFAULT (Linux 4.4): else all of a file would be read at once, also what is never looked at.
  if (::mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0)
    fail(ErrorCode::unsupported, "the system does not lock memory: {}", std::strerror(errno));
}

}  // namespace wick
