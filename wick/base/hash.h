// Hashes: keyed ones for tables in memory that a file fills, so that no file can be made to collide, and the two stable ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace [[gnu::visibility("default")]] wick {

// SplitMix64 (Steele, Lea & Flood 2014): its step, and its finalizer, in which each bit of `value` reaches each bit of the result.
inline constexpr uint64_t kSplitMixStep = 0x9E3779B97F4A7C15u;
[[nodiscard]] constexpr uint64_t split_mix(uint64_t value) noexcept {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

// FNV-1a, the same on every machine; `hash` continues one.
inline constexpr uint64_t kFnvBasis = 0xCBF29CE484222325u;
[[nodiscard]] constexpr uint64_t fnv1a(uint64_t hash, uint64_t value) noexcept { return (hash ^ value) * 0x100000001B3u; }
[[nodiscard]] constexpr uint64_t fnv1a(uint64_t hash, std::span<const std::byte> bytes) noexcept {
  for (const std::byte byte : bytes) hash = fnv1a(hash, std::to_integer<uint64_t>(byte));
  return hash;
}

// Random numbers that differ from process to process.
struct HashKey {
  uint64_t first = 0;
  uint64_t second = 0;
  uint64_t odd = 1;
};
[[nodiscard]] const HashKey& process_hash_key();

// The product's upper half into its lower half.
[[nodiscard]] inline uint64_t folded_product(uint64_t left, uint64_t right) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(left) * right;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// 16 bytes at a time through a folded multiplication of two secret factors, as wyhash does.
[[nodiscard]] inline uint64_t keyed_hash(std::string_view bytes, const HashKey& key) noexcept {
  const auto load = [](const char* at, size_t width) {
    uint64_t word = 0;
    std::memcpy(&word, at, width);
    return word;
  };
  uint64_t hash = key.first;
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left > 16; left -= 16, at += 16) hash = folded_product(load(at, 8) ^ hash, load(at + 8, 8) ^ key.second);
  uint64_t low = 0;
  uint64_t high = 0;  // overlaps the first
  if (left >= 8) {
    low = load(at, 8);
    high = load(at + left - 8, 8);
  } else if (left >= 4) {
    low = load(at, 4);
    high = load(at + left - 4, 4);
  } else if (left > 0) {
    const auto byte = [&](size_t index) { return uint64_t{static_cast<unsigned char>(at[index])}; };
    low = byte(0) | byte(left / 2) << 8 | byte(left - 1) << 16;
  }
  // The length comes in last: xored to the text's own words, a byte of the text could undo it.
  return folded_product(folded_product(low ^ hash, high ^ key.second) ^ bytes.size(), key.odd);
}

// For the tables of the standard library: std::unordered_map<std::string, Value, KeyedHash, std::equal_to<>>. Other in the next process,
// so never for anything that is stored.
struct KeyedHash {
  using is_transparent = void;
  [[nodiscard]] size_t operator()(std::string_view text) const noexcept {
    return static_cast<size_t>(keyed_hash(text, process_hash_key()));
  }
};

// The slot of a number in a table of 2^bits slots (0 < bits < 64): multiply-shift with a secret odd factor.
[[nodiscard]] inline size_t keyed_slot(uint64_t number, unsigned bits, const HashKey& key) noexcept {
  return static_cast<size_t>((number * key.odd) >> (64 - bits));
}

}  // namespace wick
