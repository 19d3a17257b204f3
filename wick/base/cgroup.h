// Limits of this process's control groups (cgroup v1 and v2): memory and processor time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace [[gnu::visibility("default")]] wick {

// The groups that a process is in, with all groups above them, whose limits hold too.
class Cgroup {
 public:
  // Reads <root>/proc/self/cgroup and <root>/proc/self/mountinfo; `root` is another folder than / for tests alone.
  explicit Cgroup(const std::filesystem::path& root = "/");

  // The tightest memory limit, in bytes; none where no group has one.
  [[nodiscard]] std::optional<uint64_t> memory_limit() const;
  // Memory still available under the tightest limit: the limit minus the memory in use, where pages of files count as free, because the
  // system drops them first.
  [[nodiscard]] std::optional<uint64_t> available_memory() const;
  // Processors' worth of time by the tightest quota (1.5: one and a half); none where no group has one.
  [[nodiscard]] std::optional<double> cores() const;

 private:
  // A folder of a group, and the names that its version gives its files.
  struct Folder {
    std::filesystem::path path;
    bool v2 = false;
  };
  std::vector<Folder> memory_;
  std::vector<Folder> cpu_;
};

}  // namespace wick
