#include "wick/base/cgroup.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

namespace wick {
namespace {

namespace fs = std::filesystem;

// A mounted hierarchy: where it is, which of its groups is at the mount point, and what it controls ("" for v2).
struct Hierarchy {
  std::string group;
  std::string mount_point;
  std::string controllers;
  bool v2 = false;
};

// mountinfo writes blanks in paths as \040 and their like.
std::string without_escapes(std::string_view text) {
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    unsigned value = 0;
    const std::string_view digits = text.substr(at + 1 < text.size() ? at + 1 : at, 3);
    if (text[at] == '\\' && std::from_chars(digits.data(), digits.data() + digits.size(), value, 8).ec == std::errc()) {
      plain.push_back(static_cast<char>(value));
      at += 3;
    } else {
      plain.push_back(text[at]);
    }
  }
  return plain;
}

// "36 25 0:32 /group /sys/fs/cgroup/memory rw,… shared:9 - cgroup cgroup rw,memory"
std::vector<Hierarchy> hierarchies(const fs::path& mountinfo) {
  std::vector<Hierarchy> found;
  std::ifstream file(mountinfo);
  for (std::string line; std::getline(file, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::string id, parent, device, type, source;
    Hierarchy hierarchy;
    std::istringstream before(line.substr(0, dash));
    std::istringstream after(line.substr(dash + 3));
    before >> id >> parent >> device >> hierarchy.group >> hierarchy.mount_point;
    after >> type >> source >> hierarchy.controllers;
    if (type != "cgroup" && type != "cgroup2") continue;
    hierarchy.v2 = type == "cgroup2";
    hierarchy.group = without_escapes(hierarchy.group);
    hierarchy.mount_point = without_escapes(hierarchy.mount_point);
    found.push_back(std::move(hierarchy));
  }
  return found;
}

bool lists(std::string_view controllers, std::string_view name) {
  while (!controllers.empty()) {
    const size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == name) return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

// The group of this process in a hierarchy, below its mount point: "" for the one that is mounted. A line of /proc/self/cgroup is
// "4:memory:/group", or "0::/group" for v2. Containers see paths that are not below their mount; their own group is what is mounted.
std::string group_below(const fs::path& own_groups, const Hierarchy& hierarchy, std::string_view controller) {
  std::ifstream file(own_groups);
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (hierarchy.v2 ? !controllers.empty() : !lists(controllers, controller)) continue;
    const std::string group = line.substr(second + 1);
    if (hierarchy.group == "/") return group == "/" ? "" : group;
    if (group == hierarchy.group || group.starts_with(hierarchy.group + "/")) return group.substr(hierarchy.group.size());
    return "";
  }
  return "";
}

// The first number of a file; none for "max", and where there is no such file.
std::optional<int64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  int64_t value = 0;
  if (!(file >> value)) return std::nullopt;
  return value;
}

std::optional<uint64_t> size_in(const fs::path& path) {
  std::ifstream file(path);
  std::string word;
  uint64_t value = 0;
  if (!(file >> word) || std::from_chars(word.data(), word.data() + word.size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

// Pages of files, which memory.stat counts by how lately they were used.
uint64_t file_pages(const fs::path& stat, bool v2) {
  std::ifstream file(stat);
  uint64_t pages = 0;
  std::string key;
  for (uint64_t value = 0; file >> key >> value;) {
    if (key == (v2 ? "inactive_file" : "total_inactive_file") || key == (v2 ? "active_file" : "total_active_file")) pages += value;
  }
  return pages;
}

// v1 says "no limit" by the largest number of whole pages.
constexpr uint64_t kNoLimit = uint64_t{1} << 60;

std::optional<uint64_t> limit_of(const fs::path& folder, bool v2) {
  const std::optional<uint64_t> limit = size_in(folder / (v2 ? "memory.max" : "memory.limit_in_bytes"));
  return limit && *limit < kNoLimit ? limit : std::nullopt;
}

std::optional<double> quota_of(const fs::path& folder, bool v2) {
  double quota = 0;
  double period = 0;
  if (v2) {
    std::ifstream file(folder / "cpu.max");  // "max 100000" or "150000 100000"
    std::string word;
    if (!(file >> word >> period) || word == "max") return std::nullopt;
    quota = std::strtod(word.c_str(), nullptr);
  } else {
    quota = static_cast<double>(number_in(folder / "cpu.cfs_quota_us").value_or(-1));
    period = static_cast<double>(number_in(folder / "cpu.cfs_period_us").value_or(0));
  }
  if (!(quota > 0) || !(period > 0)) return std::nullopt;
  return quota / period;
}

template <class Value>
void take_less(std::optional<Value>& least, std::optional<Value> value) {
  if (value && (!least || *value < *least)) least = value;
}

}  // namespace

Cgroup::Cgroup(const fs::path& root) {
  const fs::path own_groups = root / "proc/self/cgroup";
  for (const Hierarchy& hierarchy : hierarchies(root / "proc/self/mountinfo")) {
    const fs::path mount = root / fs::path(hierarchy.mount_point).relative_path();
    for (const std::string_view controller : {"memory", "cpu"}) {
      if (!hierarchy.v2 && !lists(hierarchy.controllers, controller)) continue;
      std::vector<Folder>& folders = controller == "memory" ? memory_ : cpu_;
      const fs::path below = fs::path(group_below(own_groups, hierarchy, controller)).relative_path().lexically_normal();
      folders.push_back({mount, hierarchy.v2});
      fs::path at = mount;
      for (const fs::path& part : below) {
        if (part == ".." || part == "." || part.empty()) continue;
        at /= part;
        folders.push_back({at, hierarchy.v2});
      }
    }
  }
}

std::optional<uint64_t> Cgroup::memory_limit() const {
  std::optional<uint64_t> least;
  for (const Folder& folder : memory_) take_less(least, limit_of(folder.path, folder.v2));
  return least;
}

std::optional<uint64_t> Cgroup::available_memory() const {
  std::optional<uint64_t> least;
  for (const auto& [path, v2] : memory_) {
    const std::optional<uint64_t> limit = limit_of(path, v2);
    const std::optional<uint64_t> usage = size_in(path / (v2 ? "memory.current" : "memory.usage_in_bytes"));
    if (!limit) continue;
    const uint64_t used = usage.value_or(0);
    const uint64_t kept = used - std::min(used, file_pages(path / "memory.stat", v2));
    take_less<uint64_t>(least, *limit - std::min(*limit, kept));
  }
  return least;
}

std::optional<double> Cgroup::cores() const {
  std::optional<double> least;
  for (const Folder& folder : cpu_) take_less(least, quota_of(folder.path, folder.v2));
  return least;
}

}  // namespace wick
