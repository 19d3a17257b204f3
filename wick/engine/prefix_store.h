// A PrefixStore keeps sequences of a KvPool outside of it: in host memory, and what has no room there in the files of a folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wick/text/tokenizer/vocabulary.h"

namespace wick {

// How many tokens both texts begin with.
[[nodiscard]] int64_t common_length(std::span<const TokenId> left, std::span<const TokenId> right);

struct PrefixStoreOptions {
  int64_t memory_bytes = 0;
  std::filesystem::path folder = {};  // empty: none
  int64_t folder_bytes = 0;
  uint64_t fingerprint = 0;  // of the pool (KvPool::fingerprint): files of others stay where they are and are not used
};

class PrefixStore {
 public:
  // Makes the folder, and finds what is in it. Errors: io.
  explicit PrefixStore(PrefixStoreOptions options);

  [[nodiscard]] bool enabled() const noexcept { return options_.memory_bytes > 0 || !options_.folder.empty(); }
  [[nodiscard]] int64_t memory_bytes() const noexcept { return memory_used_; }

  // How many tokens the best kept sequence has in common with these.
  [[nodiscard]] int64_t longest(uint64_t identity, std::span<const TokenId> tokens) const;
  // That sequence's bytes, for KvPool::restore; it counts as just used. None where there is none any more: a file may have gone.
  [[nodiscard]] std::optional<std::vector<std::byte>> load(uint64_t identity, std::span<const TokenId> tokens);
  // Keeps a sequence, unless a kept one begins with all of it; those that it begins with are forgotten. What was not used for longest makes
  // room: out of memory to the folder, out of the folder for good. A folder that cannot be written to keeps nothing more.
  void put(uint64_t identity, std::span<const TokenId> tokens, std::vector<std::byte> bytes);
  // Whether put() would keep it.
  [[nodiscard]] bool wants(uint64_t identity, std::span<const TokenId> tokens) const;
  // Writes what is in memory to the folder.
  void flush();
  void clear();

 private:
  struct Entry {
    uint64_t identity = 0;
    std::vector<TokenId> tokens;
    std::vector<std::byte> bytes;  // empty: in the file
    std::filesystem::path file;    // empty: in memory alone
    int64_t file_bytes = 0;
  };
  using Entries = std::list<Entry>;  // the last used one first

  [[nodiscard]] Entries::const_iterator best(uint64_t identity, std::span<const TokenId> tokens) const;
  void find_files();
  void limit_memory();
  void limit_folder();
  // Whether the entry is in a file now.
  bool write(Entry& entry);
  void drop_bytes(Entry& entry);
  void erase(Entries::const_iterator entry);

  PrefixStoreOptions options_;
  Entries entries_;
  int64_t memory_used_ = 0, folder_used_ = 0;
};

}  // namespace wick
