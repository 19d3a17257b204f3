// A hash of text that nobody outside this process can foresee, for tables whose keys come from files: SipHash-1-3 (Aumasson & Bernstein
// 2012) with a random key that each process draws anew. A file cannot hold keys that all fall together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace [[gnu::visibility("default")]] wick {

// Of these bytes; other in the next process, so never for anything that is stored.
[[nodiscard]] uint64_t keyed_hash(std::string_view bytes) noexcept;

// For the tables of the standard library: std::unordered_map<std::string, Value, KeyedHash, std::equal_to<>>.
struct KeyedHash {
  using is_transparent = void;
  [[nodiscard]] size_t operator()(std::string_view text) const noexcept { return static_cast<size_t>(keyed_hash(text)); }
};

}  // namespace wick
