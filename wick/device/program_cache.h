// A ProgramCache keeps drivers' binaries in a folder, so that the next run of any program need not compile them again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

// The binary in the bytes of a file of the cache, which may be anybody's; none where they are no whole entry of that key.
[[nodiscard]] std::optional<std::span<const std::byte>> binary_of_entry(std::span<const std::byte> entry, std::string_view key);

// One file an entry, written whole or not at all, so that processes may share a folder. An entry is its key, its binary and a checksum of
// both; one that is damaged, or that a newer version wrote, counts as missing and is written again. The key is all that a binary depends
// on, and is compared as it is: two keys of one hash are no danger. A folder that cannot be written, or is full, is no error: the log
// says so once, what it holds is read, and all else is compiled as if there were none.
class ProgramCache {
 public:
  static constexpr uint64_t kDefaultMaxBytes = uint64_t{512} << 20;

  // The folder is made if it is not there.
  explicit ProgramCache(std::filesystem::path folder, uint64_t max_bytes = kDefaultMaxBytes);

  [[nodiscard]] std::optional<std::vector<std::byte>> find(std::string_view key);
  // Also gives the folder its bound back, if it has outgrown it: those go first that were not used for longest.
  void store(std::string_view key, std::span<const std::byte> binary);
  // Forgets an entry that the driver refused.
  void erase(std::string_view key);

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

 private:
  [[nodiscard]] std::filesystem::path path_of(std::string_view key) const;
  void shrink();
  void give_up(std::string_view what);

  std::filesystem::path folder_;
  uint64_t max_bytes_;
  std::mutex mutex_;
  bool writable_ = true;
};

}  // namespace wick
